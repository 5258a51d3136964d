/*
 * submit.c - the run as a batch job. Everything that could be rejected at the start of
 * the job is rejected now; then the command line is made, once for the first start and
 * once for those after a requeue, and the request, from which the launcher makes a
 * script.
 */
#include "train/submit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run_dir.h"
#include "util/argv.h"
#include "util/fs.h"
#include "util/quote.h"

#define PROLOGUE_MAX (1u << 20)

/* ---- Checks ---- */

/* Inside the job, "auto" finds the allocation. */
static int launcher_choose(const struct trainer *trainer,
                           const struct launcher_ops **launcher, struct error *err)
{
    *launcher = strcmp(trainer->opt->launcher, "auto") == 0 ? launcher_of_batch()
                                                            : trainer->launcher;
    if (*launcher && (*launcher)->submit)
        return 0;
    return error_set(
        err, RAYTRAIN_EUSAGE,
        "--submit: the launcher %s has no batch jobs; leave out --launcher, "
        "or --submit",
        launcher_name(trainer->launcher));
}

/* Only a run that is continued may be requeued, and the first start is not. */
static int requeue_fits(const struct trainer *trainer, struct error *err)
{
    if (!trainer->cfg->run_config.requeue_on_stop || !trainer->opt->fresh)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "--requeue-on-stop continues a run, and --fresh starts over; give "
                     "the new run another --name in place of --fresh");
}

/* A name with %j does not name a run yet, so none is found. */
static int run_check(const struct trainer *trainer, struct error *err)
{
    const struct run_config *run = &trainer->cfg->run_config;
    const struct options *opt = trainer->opt;
    char *path, quoted[QUOTE_TEXT_MAX];
    int rc = 0;

    if (opt->resume)
        return trainer_check(trainer, err);
    if (!(path = run_dir_file(run->storage_path, run->name)))
        return error_no_memory(err);
    if (!opt->fresh && access(path, F_OK) == 0)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "%s exists already: continue that run with --resume, set it "
                       "aside and start over with --fresh, or give the new run another "
                       "--name",
                       quote(path, quoted));
    free(path);
    return rc;
}

/* ---- The command line ---- */

/* The path by which the job finds the file. A command without a '/' is looked up in
 * PATH again, since a prologue may change it. */
static const char *operand(const struct trainer *trainer)
{
    const char *typed = trainer->opt->submit.operands[0];
    const char *found =
        trainer->cfg->is_script ? trainer->cfg->args[0] : trainer->cfg->train_func;
    struct stat here, st;
    bool is_file = !trainer->opt->submit.command || strchr(typed, '/') ||
                   (stat(typed, &here) == 0 && stat(found, &st) == 0 &&
                    here.st_dev == st.st_dev && here.st_ino == st.st_ino);

    return is_file ? found : typed;
}

static int submit_command_make(const struct trainer *trainer, const char *self,
                               const char *start, char ***out, struct error *err)
{
    const struct submit_options *s = &trainer->opt->submit;
    char **v = NULL;
    int rc = argv_append(&v, self, err);

    if (rc == 0)
        rc = argv_append_all(&v, s->line, err);
    if (rc == 0)
        rc = argv_append(&v, start, err);
    if (rc == 0 && s->operands[0]) {
        if (s->command)
            rc = argv_append(&v, "--", err);
        if (rc == 0)
            rc = argv_append(&v, operand(trainer), err);
        if (rc == 0)
            rc = argv_append_all(&v, s->operands + 1, err);
    }
    if (rc < 0)
        argv_free(v);
    else
        *out = v;
    return rc;
}

/* The path of this program, so that the job does not depend on PATH. malloc'ed. */
static char *self_path(struct error *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    char *copy = NULL;

    if (n > 0) {
        path[n] = '\0';
        copy = strdup(path);
    }
    if (!copy)
        error_set(err, RAYTRAIN_ENOMEM, "cannot find the path of this program: %s",
                  strerror(errno));
    return copy;
}

/* --resume also starts a run, and can be combined with --resume=CHECKPOINT. --fresh is
 * dropped after a requeue. */
static int commands_make(const struct trainer *trainer, char ***command, char ***again,
                         struct error *err)
{
    char *self = self_path(err);
    bool fresh = trainer->opt->fresh;
    int rc = self ? submit_command_make(trainer, self, fresh ? "--fresh" : "--resume",
                                        command, err)
                  : -1;

    if (rc == 0 && fresh)
        rc = submit_command_make(trainer, self, "--resume", again, err);
    free(self);
    return rc;
}

/* ---- The request ---- */

static int prologue_read(const char *path, char **text, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    size_t n;

    if (!path)
        return 0;
    if (fs_read(path, text, &n, err) < 0)
        return error_prefix(err, "--prologue");
    if (n <= PROLOGUE_MAX && strlen(*text) == n)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "--prologue: %s is not a file of shell lines: it %s; name another",
                     quote(path, quoted),
                     n > PROLOGUE_MAX ? "is larger than 1 MiB"
                                      : "contains bytes of value 0");
}

/* The lines of the site, and then those of the user. */
static int prologues_read(const struct options *opt, char **text, struct error *err)
{
    const char *paths[] = {opt->site.prologue, opt->submit.prologue};
    char *part = NULL, *both;

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (prologue_read(paths[i], &part, err) < 0) {
            free(part);
            return -1;
        }
        if (!part)
            continue;
        if (asprintf(&both, "%s%s%s", *text ? *text : "",
                     *text && **text && (*text)[strlen(*text) - 1] != '\n' ? "\n" : "",
                     part) < 0)
            both = NULL;
        free(part);
        part = NULL;
        free(*text);
        if (!(*text = both))
            return error_no_memory(err);
    }
    return 0;
}

/* Can the run continue elsewhere if a node is lost? */
static bool survives(const struct train_config *cfg)
{
    return cfg->scaling_config.spare_nodes > 0 ||
           scaling_config_is_elastic(&cfg->scaling_config) ||
           cfg->run_config.failure_config.max_failures != 0;
}

int submit_run(const struct trainer *trainer, struct submission *out, struct error *err)
{
    const struct train_config *cfg = trainer->cfg;
    const struct launcher_ops *launcher;
    char **command = NULL, **again = NULL, *prologue = NULL;
    int rc = -1;

    memset(out, 0, sizeof *out);
    if (!(out->dir = getcwd(NULL, 0)))
        error_set(err, RAYTRAIN_EINVAL, "cannot find the working directory: %s",
                  strerror(errno));
    else if (launcher_choose(trainer, &launcher, err) == 0 &&
             requeue_fits(trainer, err) == 0 && run_check(trainer, err) == 0 &&
             prologues_read(trainer->opt, &prologue, err) == 0 &&
             commands_make(trainer, &command, &again, err) == 0) {
        const struct batch_request request = {
            .scaling = &cfg->scaling_config,
            .options = &trainer->opt->submit,
            .name = cfg->run_config.name,
            .stop_s = cfg->run_config.stop_before_end_s,
            .survives = survives(cfg),
            .dir = out->dir,
            .prologue = prologue,
            .command = command,
            .again = again,
        };

        rc = launcher->submit(&request, trainer->opt->dry_run, &out->script,
                              &out->ticket, err);
    }
    free(prologue);
    argv_free(command);
    argv_free(again);
    return rc;
}

void submission_clear(struct submission *s)
{
    free(s->script);
    free(s->dir);
    memset(s, 0, sizeof *s);
}
