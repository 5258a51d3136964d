/*
 * program.c - turn a command line and a configuration file into a run, and the run into
 * an exit status. Of the programs that use the launcher, this is the only file that
 * prints errors and exits.
 */
#include "config.h"
#include "program.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/site.h"
#include "hangup.h"
#include "launch/batch_system.h"
#include "train/allocation.h"
#include "train/dry_run.h"
#include "train/failure_diagnosis.h"
#include "train/requeue.h"
#include "train/restart_policy.h"
#include "train/submit.h"
#include "train/sweep_runs.h"
#include "train/trainer.h"
#include "util/argv.h"
#include "util/fs.h"
#include "event/outlet.h"
#include "util/process.h"
#include "util/quote.h"

#define KILLED_WITHIN_MS 10000 /* by Slurm, once the job is requeued */
#define PATIENCE_S       600.0 /* patience with Slurm's controller */
#define LAST_WORDS_S     5.0   /* how long the end waits for a terminal that is held */

/* On standard error, and without waiting for it. */
static void program_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void program_say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    outlet_vprint(outlet_messages(), fmt, ap);
    va_end(ap);
}

static const char *name = "raytrain"; /* of the program, before each message */

static bool as_json; /* print the result, or why there is none, as a JSON object */

/* The file in which fit() expects the Result, since standard output has what workers
 * print. */
#define FIT_RESULT_VARIABLE "RAYTRAIN_FIT_RESULT"

static const char *result_path; /* of that variable; NULL: standard output */

static int keep_json(const json_t *result, const char *path)
{
    char *text = json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(17));
    struct error err;
    int rc = -1;

    if (text)
        rc = fs_write_atomic(path, text, strlen(text), 0600, &err);
    if (rc < 0)
        program_say("%s: could not write the result to %s: %s\n", name, path,
                    text ? err.text : "out of memory");
    free(text);
    return rc;
}

/* For programs that start this one, since a run that did not start has no records. */
static void print_refusal(const struct error *err)
{
    json_t *message = json_text(err->text), *refusal;

    refusal = json_pack("{s:s, s:n, s:{s:o}}", "status", "refused", "path", "error",
                        "message", message);
    if (refusal && result_path)
        (void)keep_json(refusal, result_path);
    else if (refusal && json_dumpf(refusal, stdout, JSON_COMPACT) == 0)
        putchar('\n');
    json_decref(refusal);
}

static int program_fail(const struct error *err)
{
    if (as_json)
        print_refusal(err);
    fflush(stdout);
    program_say("%s: %s\n", name, err->text);
    return error_exit_status(err->code);
}

static void refusal_say(const char *text)
{
    program_say("%s: %s\n", name, text);
}

/* Did fit() of the Python module start this process? Then the user has not seen the
 * command line, and gets the failure as an exception. */
static bool is_of_fit(void)
{
    return getenv("RAYTRAIN_FIT") != NULL;
}

/* What to type to continue; saved: there is a checkpoint to continue from. */
static const char *what_next(const struct options *opt, bool saved)
{
    if (is_of_fit())
        return "call restore(path).fit() of the trainer's class";
    if (opt->resume || opt->warm || !saved)
        return "run the same line again";
    if (opt->fresh)
        return "run the same line with --resume in place of --fresh";
    return "run the same line with --resume";
}

static bool is_saved(const struct program *program, const struct trainer *trainer)
{
    return program->always_saves || trainer_has_saved(trainer);
}

/* The worker's log, and its last lines if the message does not have them. */
static void print_log(const struct failure_log *log, bool lines)
{
    lines = lines && log->tail[0] && !log->shown;
    if (log->path[0])
        program_say("  %s%s%s\n", lines ? "last lines of " : "its log: ", log->path,
                    lines ? ":" : "");
    for (const char *line = log->tail; lines && *line;) {
        int length = (int)strcspn(line, "\n");

        program_say("  | %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

/* The exception of fit() has the whole message; its last line, which in a traceback is
 * the exception, is enough here. */
static void say_reason(const char *message)
{
    size_t n = strlen(message);
    const char *last;

    while (n > 0 && (message[n - 1] == '\n' || message[n - 1] == ' '))
        n--;
    last = memrchr(message, '\n', n);
    last = last ? last + 1 + strspn(last + 1, " ") : message;
    program_say(": %.*s\n", (int)(message + n - last), last);
}

/* A failure: which worker, how, and the last lines of that worker's log. */
static void print_failure(const struct program *program, const struct trainer *trainer,
                          const struct run_outcome *outcome, bool saved)
{
    const struct failure *f = &outcome->failure;
    const char *backend = failure_missed_backend(trainer->cfg, f, &outcome->log);
    char *message = indented_lines(f->message, "  ");
    bool recurs = failure_recurs(f);

    program_say("%s: the %s failed", name, program->noun);
    if (f->rank >= 0)
        program_say(": rank %d", f->rank);
    if (f->rank >= 0 && f->host[0])
        program_say(" on %s", f->host);
    if (is_of_fit())
        say_reason(f->message);
    else
        program_say(": %s\n", message ? message : f->message);
    free(message);
    print_log(&outcome->log, !strchr(f->message, '\n')); /* it has no traceback */
    if (backend && !is_of_fit())
        program_say(
            "  the ranks of a command find each other by a backend: add --backend %s\n",
            backend);
    if (failure_is_shared_gpu(f, &outcome->log))
        program_say("  NCCL needs a GPU for each rank: give each worker a whole one "
                    "(--gpus-per-worker 1), or let the ranks meet by gloo: "
                    "init_process_group(\"gloo\"), or TorchConfig(backend=\"gloo\")\n");
    if (outcome->attempts > 1)
        program_say("  after %d attempts\n", outcome->attempts);
    if (program->go_on)
        program_say("  %s%s, %s\n",
                    saved    ? program->go_on
                    : recurs ? "nothing was saved: once the cause is corrected"
                             : "nothing was saved: to try again",
                    saved && recurs ? " once the cause is corrected" : "",
                    what_next(trainer->opt, saved));
}

/* A closed pipe is not a failure: its reader has seen enough. */
static int print_json(const json_t *result)
{
    errno = 0;
    if ((json_dumpf(result, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) < 0 ||
         putchar('\n') == EOF || fflush(stdout) != 0) &&
        errno != EPIPE) {
        program_say("%s: could not write the result to standard output\n", name);
        return -1;
    }
    return 0;
}

static int give_json(const json_t *result)
{
    return result_path ? keep_json(result, result_path) : print_json(result);
}

/* Why the run stopped, and how to continue it. Nothing is printed after this: a
 * requeued job is killed, and this process with it. */
static int conclude_stop(const struct trainer *trainer,
                         const struct run_outcome *outcome, bool saved)
{
    struct batch_job job;
    bool requeue = requeue_is_due(trainer->cfg, outcome, &job),
         quiet = trainer->opt->quiet;
    const struct batch_ops *batch = requeue ? batch_find() : NULL;
    const char *why = "stopped on request";
    struct error err;

    if (outcome->failure.cause == CAUSE_TIME_LIMIT)
        why = "stopped before the end of the allocation";
    else if (outcome->failure.cause == CAUSE_PREEMPTED && outcome->by_node)
        why = "stopped: a worker received SIGTERM from outside, and max_preemptions "
              "are used up";
    else if (outcome->used_up)
        why =
            "stopped: Slurm preempts the job, or has preempted it, and max_preemptions "
            "are used up";
    else if (outcome->failure.cause == CAUSE_PREEMPTED)
        why = "stopped because Slurm preempts the job";

    if (!quiet && trainer->cfg->run_config.requeue_on_stop && outcome->fruitless)
        program_say(
            "%s: the job does not go back to the queue: there has been no new %s "
            "since the start before this one, which was stopped, too\n"
            "  give the job more time (sbatch --time), or use a smaller "
            "--stop-before-end\n",
            name,
            predict_config_predicts(&trainer->cfg->predict) ? "part of the predictions"
                                                            : "checkpoint");
    if (!quiet && requeue)
        program_say("%s: %s; job %s goes back to the queue\n", name, why, job.name);
    else if (!quiet)
        program_say(
            "%s: %s; %s%s to continue%s\n", name, why, what_next(trainer->opt, saved),
            outcome->used_up ? " in another job" : "",
            outcome->failure.cause == CAUSE_PREEMPTED && !outcome->by_node &&
                    !outcome->used_up
                ? "\n  (Slurm does not requeue a job that makes room by itself; "
                  "--requeue-on-stop does)"
                : "");
    /* The signal that Slurm sends before it kills must not end this process: the rest
     * of the script would run. */
    if (requeue) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGUSR1, SIG_IGN);
    }
    if (requeue && batch->requeue(&job, &err) < 0)
        program_say("%s: job %s could not be requeued: %s\n", name, job.name, err.text);
    else if (requeue)
        poll(NULL, 0, KILLED_WITHIN_MS); /* do not return to the script */
    return error_exit_status(RAYTRAIN_ESTOPPED);
}

/* The end of a run as an exit status. */
static int conclude(const struct program *program, const struct trainer *trainer,
                    const struct run_outcome *outcome, const json_t *result, bool again)
{
    const struct options *opt = trainer->opt;
    bool saved = is_saved(program, trainer);

    if (again && !opt->quiet)
        program_say("%s: this run has finished already; nothing to do\n"
                    "  --fresh starts it over, other settings continue it\n",
                    name);
    if (outcome->status == RUN_FAILED)
        print_failure(program, trainer, outcome, saved);
    if (opt->json && give_json(result) < 0)
        return 1;
    switch (outcome->status) {
    case RUN_FINISHED:
        return 0;
    case RUN_STOPPED:
        if (outcome->missing[0]) {
            program_say("%s: stopped: %s\n"
                        "  %s in an allocation with enough nodes to continue\n",
                        name, outcome->missing, what_next(opt, saved));
            return error_exit_status(RAYTRAIN_ESTOPPED);
        }
        return conclude_stop(trainer, outcome, saved);
    case RUN_FAILED:
        break;
    }
    return error_exit_status(outcome->failure.code);
}

/* What ran inside the allocation has printed how it ended, unless it was killed. */
static int conclude_allocation(const struct program *program, const struct options *opt,
                               const struct allocation_end *end)
{
    bool saved = end->saved || end->cut_off || program->always_saves;
    const char *next = what_next(opt, saved);

    if (end->cut_off)
        program_say(
            "%s: what ran inside the allocation ended before the run did: %s was "
            "killed "
            "there, or salloc was\n"
            "  to continue, %s\n",
            name, name, next);
    else if (end->settled && end->exit_status == error_exit_status(RAYTRAIN_ESTOPPED))
        program_say("%s: stopped on request; %s to continue\n", name, next);
    else if (end->settled)
        program_say(
            "%s: the run has %s; what ran inside the allocation was killed after "
            "that\n",
            name, end->exit_status == 0 ? "finished" : "failed");
    return end->exit_status;
}

static int program_fit(const struct program *program, const struct trainer *trainer,
                       struct error *err)
{
    struct run_outcome outcome;
    json_t *result = NULL;
    bool again;
    int status;

    unsetenv(FIT_RESULT_VARIABLE); /* workers may start runs of their own */
    if (trainer_fit(trainer, &outcome, &result, &again, err) < 0)
        return program_fail(err);
    status = conclude(program, trainer, &outcome, result, again);
    json_decref(result);
    return status;
}

static int dry_run(const struct trainer *trainer, char *const argv[], struct error *err)
{
    return trainer_dry_run(trainer, argv, stdout, err) < 0 ? program_fail(err) : 0;
}

/* What to type to follow the run of a job, quoted for a shell; malloc'ed. */
static char *line_to_follow(const struct run_config *run)
{
    char *path, *line = NULL;

    if (asprintf(&path, "%s/%s", run->storage_path, run->name) < 0)
        return NULL;
    char *const argv[] = {(char *)"raytrain-inspect", path, (char *)"--follow", NULL};

    if (argv_join(argv, &line, NULL) < 0)
        line = NULL;
    free(path);
    return line;
}

static void say_submitted(const struct run_config *run, const struct submission *job)
{
    const char *id = job->ticket.id;
    char *follow = line_to_follow(run);

    program_say("%s: submitted as job %s, whose messages are in %s/%s\n"
                "  its state: squeue --jobs %s; to cancel it: scancel %s\n",
                name, id, job->dir, job->ticket.log, id, id);
    if (follow)
        program_say("  to follow its run, once it has started: %s\n%s", follow,
                    strchr(run->name, '%')
                        ? "    with the job's numbers in place of %a, %A and "
                          "%j\n"
                        : "");
    free(follow);
}

/* The id of the job goes to standard output, for scripts; the rest is for people. */
static int submit(const struct trainer *trainer, struct error *err)
{
    struct submission job;
    int status = 0;

    if (submit_run(trainer, &job, err) < 0) {
        status = program_fail(err);
    } else if (trainer->opt->dry_run) {
        status = fputs(job.script, stdout) < 0 || fflush(stdout) != 0;
    } else {
        if (!trainer->opt->quiet)
            say_submitted(&trainer->cfg->run_config, &job);
        status = puts(job.ticket.id) < 0 || fflush(stdout) != 0;
    }
    submission_clear(&job);
    return status;
}

/* The end of a command whose work is done, in this process or in one that it
 * started. */
static int program_finish(const struct program *program, const struct trainer *trainer,
                          int status)
{
    struct error err;

    if (status != 0 || !program->finish ||
        program->finish(trainer->opt, trainer->cfg, &err) == 0)
        return status;
    return program_fail(&err);
}

static int run_checked(const struct program *program, char *argv[],
                       const struct trainer *trainer, struct error *err)
{
    struct allocation_end end;
    int rc = 0;

    if (trainer->launcher->allocate)
        rc = allocation_run(trainer, argv, &end, err);
    if (rc < 0)
        return program_fail(err);
    return program_finish(program, trainer,
                          rc > 0 ? conclude_allocation(program, trainer->opt, &end)
                                 : program_fit(program, trainer, err));
}

static int sweep(struct options *opt, struct train_config *cfg, char *const argv[],
                 struct error *err)
{
    int status;

    return sweep_run(opt, cfg, argv, refusal_say, &status, err) < 0 ? program_fail(err)
                                                                    : status;
}

/* May the workers be processes of this machine? */
static int login_check(const struct options *opt, struct train_config *cfg,
                       struct error *err)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    return site_config_admit(&opt->site, host, &cfg->scaling_config, err);
}

/* Was a word, such as the value of a mistyped option, taken for the file? */
static bool has_odd_operand(const struct options *opt)
{
    char *const *words = opt->submit.operands;

    return words && words[0] && words[1] && !opt->submit.command &&
           access(words[0], F_OK) < 0;
}

/* Say once what it means that a script was named in place of a training function. */
static void say_script(const struct options *opt, const struct train_config *cfg)
{
    bool plain;
    char *line;

    if (!cfg->is_script || opt->quiet)
        return;
    char *const argv[] = {
        (char *)"python3",
        opt->submit.operands[0] ? opt->submit.operands[0] : cfg->args[0], NULL};
    plain = !strcmp(cfg->backend, "command");
    if (argv_join(argv, &line, NULL) < 0)
        return;
    program_say("%s: %s runs it%s%s; in full: %s [OPTION]... %s%s%s-- %s\n", name,
                argv[0], plain ? "" : ", with the backend ", plain ? "" : cfg->backend,
                name, plain ? "" : "--backend ", plain ? "" : cfg->backend,
                plain ? "" : " ", line);
    free(line);
}

/* Complete the configuration, and check it. */
static int program_settle(const struct program *program, struct options *opt,
                          struct train_config *cfg, struct error *err)
{
    if (program->settle(opt, cfg, err) == 0 && train_config_validate(cfg, err) == 0)
        return 0;
    if (err->code == RAYTRAIN_EUSAGE ||
        (err->code == RAYTRAIN_ENOTFOUND && has_odd_operand(opt)))
        options_note_operands(opt, err);
    return -1;
}

/* Check the site, even if its state keeps runs from being started. If the batch system
 * does not answer, report that without waiting for it. */
static int check(const struct options *opt, struct train_config *cfg, char *argv[])
{
    struct error err;
    int status;

    batch_patience_set(0, NULL);
    return site_check(opt, cfg, argv, stdout, &status, &err) < 0 ? program_fail(&err)
                                                                 : status;
}

static int program_run(const struct program *program, int argc, char *argv[],
                       struct options *opt, struct train_config *cfg)
{
    struct trainer trainer = {.cfg = cfg, .opt = opt};
    struct error err;

    if (program->parse(argc, argv, opt, cfg, &err) < 0)
        return program_fail(&err);
    if (opt->help)
        return fputs(program->help(opt->help_all), stdout) < 0 || fflush(stdout) != 0;
    if (opt->version)
        return puts(PACKAGE_STRING) < 0 || fflush(stdout) != 0;
    trainer.report = opt->quiet ? NULL : refusal_say;
    /* As in Ray, a Python function is called with the newest checkpoint. */
    trainer.calls_again = is_of_fit() && cfg->train_func;
    as_json = opt->json && !opt->check && !opt->dry_run && !opt->submit.wanted;
    if (getenv(FIT_RESULT_VARIABLE))
        opt->result_path = strdup(getenv(FIT_RESULT_VARIABLE));
    result_path = opt->result_path;
    if (launcher_check_start(opt->launcher, &err) < 0)
        return program_fail(&err);
    if (opt->check)
        return check(opt, cfg, argv);
    if (sweep_is_due(opt))
        return sweep(opt, cfg, argv, &err);
    if (program_settle(program, opt, cfg, &err) < 0 ||
        trainer_settle(opt, cfg, &err) < 0 ||
        launcher_find(opt->launcher, &trainer.launcher, &err) < 0)
        return program_fail(&err);
    if (opt->submit.wanted || !trainer.launcher->allocate)
        say_script(opt, cfg);
    if (opt->submit.wanted)
        return submit(&trainer, &err);
    if (!trainer.launcher->allocate && login_check(opt, cfg, &err) < 0)
        return program_fail(&err);
    if (opt->dry_run)
        return dry_run(&trainer, argv, &err);
    if (job_check(cfg, opt, &err) < 0 || trainer_check(&trainer, &err) < 0 ||
        launcher_check(trainer.launcher, opt->srun_args, &err) < 0)
        return program_fail(&err);
    return run_checked(program, argv, &trainer, &err);
}

int program_main(const struct program *program, int argc, char *argv[])
{
    struct train_config cfg;
    struct options opt;
    int status;

    name = program->name;
    setlocale(LC_CTYPE, ""); /* numbers keep their point */
    if (fs_hold_stdio() < 0)
        return 1;
    signals_restore();
    hangup_restore();
    /* Exceeding a limit on file sizes is reported as an error instead of killing the
     * process, and a run continues when its output is not read. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    batch_patience_set(PATIENCE_S, refusal_say);
    status = program_run(program, argc, argv, &opt, &cfg);
    outlet_flush(outlet_messages(), LAST_WORDS_S);

    options_clear(&opt);
    train_config_clear(&cfg);
    return status;
}
