/* srun_messages.c - the templates of srun's messages, and what each says about tasks
 * and nodes. */
#include "config.h"

#include "slurm/srun_messages.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

#define FIELDS_MAX 5
#define SAID_MAX   1024 /* bytes of srun's messages kept in a failure */
#define STATUS_OOM 125  /* low bits of the status of a task killed for memory */

/* The text of a {} in a template: a part of the line, since lists of nodes and tasks
 * have no useful length limit. */
struct field {
    const char *text;
    size_t length;
};

struct fields {
    struct field at[FIELDS_MAX];
};

static bool field_has(struct field f, const char *word)
{
    return memmem(f.text, f.length, word, strlen(word)) != NULL;
}

static void field_copy(struct field f, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)f.length, f.text);
}

void step_watch_init(struct step_watch *w, int workers)
{
    *w = (struct step_watch){.workers = workers, .next.status = -1};
    w->outcome.failure.rank = w->suspect = -1;
}

/* ---- Detail ---- */

static void detail_add(struct step_watch *w, const char *line)
{
    char *said = w->outcome.failure.message;
    size_t used = strlen(said);

    if (used < SAID_MAX && !strstr(said, line))
        snprintf(said + used, SAID_MAX - used, "%s%s", used ? "\n" : "", line);
}

/* ---- How tasks end ---- */

/* The signal with this name in strsignal(); 0: none. */
static int signal_named(const char *text)
{
    for (int sig = 1; sig < SIGRTMIN; sig++) {
        const char *name = strsignal(sig);

        if (strncmp(text, name, strlen(name)) == 0)
            return sig;
    }
    return 0;
}

/* The wait status that srun describes; -1: unknown words. */
static int status_parse(const char *text)
{
    static const char exited[] = "Exited with exit code ";

    if (strncmp(text, exited, strlen(exited)) == 0)
        return (atoi(text + strlen(exited)) & 0xff) << 8;
    if (strcmp(text, "Completed") == 0)
        return 0;
    return signal_named(text) ? signal_named(text) : -1;
}

/* "0-3,7": the first task, and the number of tasks; 0 if malformed. srun truncates long
 * lists, so that the number may be too small. */
static int tasks_parse(const char *text, int workers, int *first)
{
    int n = 0;
    char *end;

    *first = -1;
    do {
        long from = strtol(text, &end, 10), to = from;

        if (end == text)
            return 0;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        if (from < 0 || to < from || to >= workers)
            return 0;
        if (*first < 0)
            *first = (int)from;
        n += (int)(to - from + 1);
        text = end + 1;
    } while (*end == ',');
    return n;
}

/*
 * When one task dies, the others often fail because they have lost it, and srun may
 * report them first. So the first failure counts until a task is reported that was
 * killed by a signal, which is more likely the cause; but not if we may have sent that
 * signal to kill the step.
 */
static void task_failed(struct step_watch *w, struct field host, int first, int status)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool crashed = sig && !(w->killing && (sig == SIGKILL || sig == SIGTERM));

    if (w->refused)
        return;
    if (w->outcome.failed && (w->crashed || w->cancelled || !crashed))
        return;
    w->outcome.failed = true;
    if (w->cancelled && sig)
        return;
    w->crashed = crashed;
    w->outcome.failure.rank = first;
    w->outcome.failure.exit_status = sig ? 0 : WEXITSTATUS(status);
    w->outcome.failure.signal = sig;
    w->outcome.failure.host[0] = '\0';
    if (!field_has(host, "[") && !field_has(host, ","))
        field_copy(host, w->outcome.failure.host, sizeof w->outcome.failure.host);
}

void step_watch_worker(struct step_watch *w, const struct worker_report *report)
{
    const struct field host = {.text = report->host, .length = strlen(report->host)};
    int status = report->oom      ? SIGKILL
                 : report->signal ? report->signal
                                  : report->exit_status << 8;

    w->oom = w->oom || report->oom;
    if (report->rank >= 0 && report->rank < w->workers)
        task_failed(w, host, report->rank, status);
}

void step_watch_again(struct step_watch *w)
{
    w->crashed = w->killing = w->oom = false;
    w->outcome = (struct launch_outcome){.failure = FAILURE_UNKNOWN};
    w->suspect = -1;
}

static void on_tasks_end(struct step_watch *w, const struct fields *f, const char *line)
{
    const char *how = f->at[2].text;
    int first, n = tasks_parse(f->at[1].text, w->workers, &first);
    int status = w->next.status, reported = w->next.tasks;

    w->next.status = -1;
    w->next.tasks = 0;
    if (n == 0)
        return;
    if (strcmp(how, "Out Of Memory") == 0 ||
        (status >= 0 && (status & 0x7f) == STATUS_OOM)) {
        status = SIGKILL;
        w->oom = true;
    } else if (status < 0) {
        status = status_parse(how);
    }
    w->ended += reported > n ? reported : n;
    if (status < 0) {
        detail_add(w, line);
        w->suspect = first;
    } else if (status != 0 &&
               !(WIFEXITED(status) && WEXITSTATUS(status) == EX_TEMPFAIL)) {
        task_failed(w, f->at[0], first, status);
    }
}

static void on_status(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)line;
    w->next.tasks = atoi(f->at[0].text);
    w->next.status = (int)strtol(f->at[3].text, NULL, 16);
}

/* ---- Everything else ---- */

static void on_step(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)line;
    field_copy(f->at[0], w->step, sizeof w->step);
}

static void on_start(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)line;
    w->started += atoi(f->at[1].text);
}

static void on_waiting(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)f;
    (void)line;
    w->waiting = true;
}

static void on_created(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)f;
    (void)line;
    w->waiting = false;
}

/* Slurm kills the tasks that had started, before or after this message. */
static void worker_refused(struct step_watch *w, int rank, struct field host)
{
    if (w->refused)
        return;
    w->refused = true;
    w->outcome.failure.rank = rank;
    w->outcome.failure.exit_status = w->outcome.failure.signal = 0;
    field_copy(host, w->outcome.failure.host, sizeof w->outcome.failure.host);
}

static void on_refused(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)f;
    w->refused = true;
    detail_add(w, line);
}

static void on_task_refused(struct step_watch *w, const struct fields *f,
                            const char *line)
{
    worker_refused(w, atoi(f->at[0].text), (struct field){.text = ""});
    detail_add(w, line);
}

/* Add a lost node. Names that do not fit are left out: a truncated name may belong to a
 * node that is alive. */
static void lost_add(struct step_watch *w, struct field node)
{
    size_t used = strlen(w->outcome.lost), room = sizeof w->outcome.lost - used;

    if (node.length + 2 <= room)
        snprintf(w->outcome.lost + used, room, "%s%.*s", used ? "," : "",
                 (int)node.length, node.text);
}

static void on_node_refused(struct step_watch *w, const struct fields *f,
                            const char *line)
{
    worker_refused(w, -1, f->at[1]);
    if (field_has(f->at[2], "onnection") || field_has(f->at[2], "timed out"))
        lost_add(w, f->at[1]);
    detail_add(w, line);
}

static void on_node_failure(struct step_watch *w, const struct fields *f,
                            const char *line)
{
    if (!w->outcome.failed)
        field_copy(f->at[0], w->outcome.failure.host, sizeof w->outcome.failure.host);
    w->outcome.failed = true;
    lost_add(w, f->at[0]);
    detail_add(w, line);
}

static void on_oom(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)f;
    (void)line;
    w->oom = true;
}

static void on_detail(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)f;
    detail_add(w, line);
}

/* The whole step was cancelled: how its tasks end afterwards does not show a cause. */
static void on_cancel(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)f;
    (void)line;
    if (!w->outcome.failed)
        w->cancelled = true;
}

static void on_noise(struct step_watch *w, const struct fields *f, const char *line)
{
    (void)w;
    (void)f;
    (void)line;
}

/* ---- The table ---- */

/*
 * {} stands for text up to what follows it in the template (at the end: the rest of the
 * line). The first template that matches wins. Up to 22.05, messages of plugins start
 * with the names of plugin and function, which plugin_text() skips.
 */
static const struct {
    const char *template;
    void (*on)(struct step_watch *w, const struct fields *f, const char *line);
} lines[] = {
    {"srun: launching StepId={} on host {}, {}", on_step},
    {"srun: Node {}, {} tasks started", on_start},
    {"srun: Received task exit notification for {} task{} of {} (status=0x{}).",
     on_status},
    {"srun: error: task {} launch failed: {}", on_task_refused},
    {"srun: error: tasks {} launch failed: {}", on_task_refused},
    {"srun: error: Task launch for StepId={} failed on node {}: {}", on_node_refused},
    {"srun: error: Unable to create step for job {}: {}", on_refused},
    {"srun: error: Application launch failed: {}", on_refused},
    {"srun: error: Unable to confirm allocation for job {}: {}", on_refused},
    {"srun: fatal: {}", on_refused},
    {"srun: error: Node failure on {}", on_node_failure},
    {"{}etected {} oom-kill event{}", on_oom},
    {"{}etected {} oom_kill event{}", on_oom},
    {"srun: error: {}: task {}: {}", on_tasks_end},
    {"srun: error: {}: tasks {}: {}", on_tasks_end},
    {"srun: {}: task {}: {}", on_tasks_end},
    {"srun: {}: tasks {}: {}", on_tasks_end},
    {"srun: Job {} step creation temporarily disabled, {}", on_waiting},
    {"srun: Step created for {}", on_created},
    {"srun: Job step aborted: {}", on_cancel},
    {"srun: Force Terminated {}", on_cancel},
    {"srun: unrecognized option {}", on_refused},
    {"srun: option {}", on_refused},
    {"srun: invalid option {}", on_refused},
    {"srun: error: Timed out waiting for job step to complete", on_noise},
    {"srun: error: {}", on_detail},
};

/* Does the line match the template? Then f gets the texts of its {}. */
static bool line_fits(const char *line, const char *template, struct fields *f)
{
    int n = 0;

    while (*template) {
        const char *hole = strstr(template, "{}"), *after, *end;
        size_t fixed = hole ? (size_t)(hole - template) : strlen(template), next;

        if (strncmp(line, template, fixed) != 0)
            return false;
        line += fixed;
        template += fixed;
        if (!hole)
            break;
        after = hole + 2;
        next = strcspn(after, "{");
        end = line + strlen(line);
        if (next > 0 && !(end = memmem(line, (size_t)(end - line), after, next)))
            return false;
        f->at[n++] = (struct field){.text = line, .length = (size_t)(end - line)};
        line = end;
        template = after;
    }
    return *line == '\0';
}

/* "srun: launch/slurm: _task_finish: TEXT": where TEXT begins; NULL in other lines. */
static const char *plugin_text(const char *line)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    const char *at = line;

    if (strncmp(at, "srun: ", 6) != 0)
        return NULL;
    at += 6;
    at += strspn(at, word);
    if (*at != '/')
        return NULL;
    at += 1 + strspn(at + 1, word);
    if (strncmp(at, ": ", 2) != 0)
        return NULL;
    at += 2;
    at += strspn(at, word);
    return strncmp(at, ": ", 2) == 0 ? at + 2 : NULL;
}

static bool line_take(struct step_watch *w, const char *line)
{
    struct fields f;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (line_fits(line, lines[i].template, &f)) {
            lines[i].on(w, &f, line);
            return true;
        }
    return false;
}

void step_watch_line(struct step_watch *w, const char *line)
{
    const char *text = plugin_text(line);
    char *plain = NULL;

    if (text && asprintf(&plain, "srun: %s", text) < 0)
        plain = NULL;
    if (!line_take(w, plain ? plain : line) && *line)
        snprintf(w->last, sizeof w->last, "%s", line);
    free(plain);
}

/* ---- The end ---- */

/* srun exits with the highest status of its tasks; for a signal that is 128 +
 * number. */
static void outcome_take_status(struct step_watch *w, int status)
{
    struct launch_outcome *o = &w->outcome;
    int sig = status > 128 ? (status - 128) & 0x7f : 0;

    if (sig == STATUS_OOM) {
        w->oom = true;
        sig = SIGKILL;
    }
    if (sig > 0 && sig <= SIGRTMAX)
        o->failure.signal = sig;
    else
        o->failure.exit_status = status;
}

static void srun_describe(struct step_watch *w, int wait_status)
{
    struct launch_outcome *o = &w->outcome;
    char worker[80] = "";

    if (WIFSIGNALED(wait_status)) {
        snprintf(o->failure.message, sizeof o->failure.message,
                 "srun was killed by signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
        return;
    }
    if (o->failure.signal)
        snprintf(worker, sizeof worker, "a worker was killed by signal %d (%.30s); ",
                 o->failure.signal, strsignal(o->failure.signal));
    snprintf(o->failure.message, sizeof o->failure.message,
             "%ssrun ended with status %d%s%s", worker, WEXITSTATUS(wait_status),
             w->last[0] ? ": " : "", w->last);
}

/* srun has failed without a known message about the reason. */
static void srun_failed(struct step_watch *w, int wait_status)
{
    struct launch_outcome *o = &w->outcome;

    o->failed = true;
    o->failure.never_started = !w->step[0];
    o->failure.rank = w->suspect;
    if (WIFEXITED(wait_status) && w->step[0])
        outcome_take_status(w, WEXITSTATUS(wait_status));
    if (!o->failure.message[0])
        srun_describe(w, wait_status);
}

void step_watch_finish(struct step_watch *w, int wait_status,
                       const struct placement *plan)
{
    struct launch_outcome *o = &w->outcome;
    int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;

    if (w->refused) {
        o->failed = true;
        o->failure.never_started = true;
    } else if (!o->failed && w->cancelled) {
        o->failed = true; /* srun may exit with 0 then */
    } else if (!o->failed && status != 0 && status != EX_TEMPFAIL) {
        srun_failed(w, wait_status);
    }
    if (o->failed && w->cancelled && o->failure.rank < 0 && !o->failure.message[0])
        snprintf(o->failure.message, sizeof o->failure.message,
                 "the step was ended as a whole: a worker aborted it, or it was "
                 "cancelled");
    if (o->failure.rank >= 0 && !o->failure.host[0])
        snprintf(o->failure.host, sizeof o->failure.host, "%s",
                 placement_host(plan, o->failure.rank));
    if (w->oom && o->failure.signal == SIGKILL)
        o->failure.cause = CAUSE_OOM;
    o->stopped = !o->failed && status == EX_TEMPFAIL;
}
