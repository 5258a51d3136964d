/*
 * job.c - the Slurm job that this process runs in: what squeue and scontrol report
 * about it, its nodes, its steps, whether a step can be started yet, and how to requeue
 * it.
 *
 * Slurm is asked each time: the end of a job moves when an administrator extends it,
 * and when it is preempted with a grace time.
 */
#include "config.h"

#include "slurm/job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm_tool.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/hostlist.h"
#include "util/quote.h"

#define JOB_ANSWER_MAX_S 10.0 /* Slurm itself would wait longer for its controller */
#define PROLOG_LOOK_S                                                                  \
    2.0                 /* from one look at a job that is being prepared to the next */
#define NODES_MAX_S 3.0 /* the same for nodes, which are needed quickly */

/* No column holds text chosen by a user, which could be mistaken for another column.
 * Times are Unix times (slurm_tool_env). */
#define COLUMNS                                                                        \
    "JobID:20,ArrayJobID:20,ArrayTaskID:20,StartTime:32,EndTime:32,PreemptTime:32,"    \
    "State:24,Requeue:8,BatchFlag:8,Reason:32"

struct batch_query {
    struct slurm_tool *tool;
    double until; /* clock_now() */
};

const char *slurm_job_id(void)
{
    const char *id = getenv("SLURM_JOB_ID");

    return id && *id ? id : NULL;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* ---- The answer ---- */

/* "Unknown", "NONE", "N/A": 0 */
static int64_t number_parse(const char *text)
{
    char *end;
    long long t = strtoll(text, &end, 10);

    return end > text && *end == '\0' && t > 0 ? t : 0;
}

/* Slurm's words for a job without an array: its own number, and "N/A". */
static void name_fill(struct batch_job *job, const char *number, const char *array,
                      const char *task)
{
    if (!is_number(array) || !is_number(task)) {
        snprintf(job->name, sizeof job->name, "%s", number);
        return;
    }
    snprintf(job->array, sizeof job->array, "%s", array);
    snprintf(job->task, sizeof job->task, "%s", task);
    snprintf(job->name, sizeof job->name, "%s_%s", array, task);
}

bool slurm_job_parse(const char *line, const char *id, struct batch_job *job)
{
    char number[24], array[24], task[24], start[36], end[36], preempted[36], state[28];
    char requeue[12], batch[12], reason[36] = ""; /* may be empty or long */

    if (sscanf(line, "%23s %23s %23s %35s %35s %35s %27s %11s %11s%*[ ]%35[^ \n]",
               number, array, task, start, end, preempted, state, requeue, batch,
               reason) < 9 ||
        strcmp(number, id) != 0)
        return false;
    *job = (struct batch_job){.start = number_parse(start),
                              .end = number_parse(end),
                              .preempted = number_parse(preempted) > 0,
                              .running = strcmp(state, "RUNNING") == 0,
                              .preparing = strcmp(state, "CONFIGURING") == 0 ||
                                           strcmp(reason, "Prolog") == 0,
                              /* 2 when Slurm itself has put it back into the queue */
                              .has_script = number_parse(batch) > 0,
                              .may_requeue = strcmp(requeue, "1") == 0};
    name_fill(job, number, array, task);
    return true;
}

/* The latest answer about the job of this process, and the job's id. */
static struct {
    char id[BATCH_NUMBER_MAX];
    double at; /* clock_now() */
    struct batch_job job;
} known;

static bool is_known(void)
{
    const char *id = slurm_job_id();

    return id && strcmp(known.id, id) == 0;
}

static bool job_recall(double max_age_s, struct batch_job *job)
{
    if (!is_known() || clock_now() - known.at > max_age_s)
        return false;
    *job = known.job;
    return true;
}

/* For a job array, squeue may list more jobs than the one asked for. */
static int answer_find(const char *text, struct batch_job *job, struct error *err)
{
    const char *id = slurm_job_id(), *line = text;
    char quoted[QUOTE_TEXT_MAX];

    while (id && line) {
        if (slurm_job_parse(line, id, job)) {
            snprintf(known.id, sizeof known.id, "%s", id);
            known.job = *job;
            known.at = clock_now();
            return 0;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return error_set(err, RAYTRAIN_ENOTSUP, "squeue does not know job %s: %s",
                     id ? id : "(none)", quote(text, quoted));
}

/* ---- The question ---- */

static void query_destroy(struct batch_query *q)
{
    if (!q)
        return;
    slurm_tool_destroy(q->tool);
    free(q);
}

static int query_tool_start(char *const *argv, struct batch_query **out,
                            struct error *err)
{
    struct batch_query *q;
    int rc;

    if (!(q = calloc(1, sizeof *q)))
        return error_no_memory(err);
    q->until = clock_now() + JOB_ANSWER_MAX_S;
    rc = slurm_tool_start(argv, &q->tool, err);
    if (rc < 0)
        query_destroy(q);
    else
        *out = q;
    return rc;
}

/* Never blocks. *done: *text is the answer, which the caller frees. */
static int tool_poll(struct batch_query *q, bool *done, char **text, struct error *err)
{
    int rc = slurm_tool_poll(q->tool, done, text, err);

    if (rc == 0 && !*done && clock_now() > q->until)
        rc = error_set(err, RAYTRAIN_ENOTSUP, "Slurm has not answered for %.0f s",
                       JOB_ANSWER_MAX_S);
    return rc;
}

/* About this job; NULL in place of its id if there is none. */
#define JOB_QUESTION                                                                   \
    {                                                                                  \
        (char *)"squeue", (char *)"--noheader", (char *)"--jobs",                      \
            (char *)slurm_job_id(), (char *)"--Format", (char *)COLUMNS, NULL          \
    }

static int no_job(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "this process is not in a Slurm job (SLURM_JOB_ID is not set)");
}

static int query_start(struct batch_query **out, struct error *err)
{
    char *argv[] = JOB_QUESTION;

    return slurm_job_id() ? query_tool_start(argv, out, err) : no_job(err);
}

/* And free the text. */
static int answer_take(char *text, struct batch_job *job, struct error *err)
{
    int rc = answer_find(text, job, err);

    free(text);
    return rc;
}

static int query_poll(struct batch_query *q, bool *done, struct batch_job *job,
                      struct error *err)
{
    char *text;
    int rc = tool_poll(q, done, &text, err);

    return rc == 0 && *done ? answer_take(text, job, err) : rc;
}

static int job_ask(struct batch_job *job, struct error *err)
{
    char *argv[] = JOB_QUESTION, *text;
    int rc = slurm_job_id() ? slurm_tool_read(argv, JOB_ANSWER_MAX_S, &text, err)
                            : no_job(err);

    return rc == 0 ? answer_take(text, job, err) : -1;
}

static int job_await(struct batch_job *job, struct error *err)
{
    char *argv[] = JOB_QUESTION, *text;
    int rc = slurm_job_id() ? slurm_ask(argv, &text, err) : no_job(err);

    return rc == 0 ? answer_take(text, job, err) : -1;
}

/* ---- What happens at its end ---- */

bool slurm_limits_parse(const char *text, struct batch_limits *limits)
{
    static const char as_of[] = "Configuration data as of ", key[] = "\nKillWait ";
    const char *time = strstr(text, as_of), *wait = strstr(text, key);
    long long now;
    int seconds;

    if (!time || !wait || sscanf(time + sizeof as_of - 1, "%lld", &now) != 1 ||
        sscanf(wait + sizeof key - 1, " = %d", &seconds) != 1 || now < 1000000000 ||
        seconds < 0)
        return false;
    *limits = (struct batch_limits){.now = (double)now, .kill_wait_s = seconds};
    return true;
}

static int limits_start(struct batch_query **out, struct error *err)
{
    char *argv[] = {(char *)"scontrol", (char *)"show", (char *)"config", NULL};

    return query_tool_start(argv, out, err);
}

static int limits_poll(struct batch_query *q, bool *done, struct batch_limits *limits,
                       struct error *err)
{
    char *text, quoted[QUOTE_TEXT_MAX];
    int rc = tool_poll(q, done, &text, err);

    if (rc < 0 || !*done)
        return rc;
    if (!slurm_limits_parse(text, limits))
        rc = error_set(err, RAYTRAIN_ENOTSUP,
                       "scontrol show config has no time or no KillWait: %s",
                       quote(text, quoted));
    free(text);
    return rc;
}

/* ---- Its name ---- */

/* A number from the environment, which may be inherited. */
static const char *variable_number(const char *variable)
{
    const char *text = getenv(variable);

    return text && is_number(text) ? text : NULL;
}

static const char *job_number(enum batch_number which)
{
    const char *claimed =
        variable_number(which == BATCH_JOB     ? "SLURM_JOB_ID"
                        : which == BATCH_ARRAY ? "SLURM_ARRAY_JOB_ID"
                                               : "SLURM_ARRAY_TASK_ID");
    const char *text = which == BATCH_ARRAY ? known.job.array : known.job.task;
    struct batch_job job;

    if (!claimed || which == BATCH_JOB || (!is_known() && job_await(&job, NULL) < 0))
        return claimed;
    return *text ? text : NULL;
}

static int job_restarts(void)
{
    const char *count = variable_number("SLURM_RESTART_COUNT");

    return count ? atoi(count) : 0;
}

const char *slurm_job_name(void)
{
    return is_known() ? known.job.name : slurm_job_id();
}

/* ---- Its nodes ---- */

bool slurm_job_field(const char *line, const char *key, char *value, size_t size)
{
    size_t n = strlen(key);

    for (const char *p = line; (p = strstr(p, key)); p += n)
        if ((p == line || isspace((unsigned char)p[-1])) && p[n] == '=') {
            const char *from = p + n + 1;

            snprintf(value, size, "%.*s", (int)strcspn(from, " \n"), from);
            return true;
        }
    return false;
}

char *slurm_job_record(char *text, const char *id)
{
    char *line, number[24];

    while ((line = strsep(&text, "\n")))
        if (slurm_job_field(line, "JobId", number, sizeof number) &&
            strcmp(number, id) == 0)
            return line;
    return NULL;
}

char **slurm_job_nodes(void)
{
    char *argv[] = {(char *)"scontrol", (char *)"--oneliner",   (char *)"show",
                    (char *)"job",      (char *)slurm_job_id(), NULL};
    char *text = NULL, *record, *list, **names = NULL;
    size_t size;

    if (!slurm_job_id() || slurm_tool_read(argv, NODES_MAX_S, &text, NULL) < 0)
        return NULL;
    record = slurm_job_record(text, slurm_job_id());
    size = record ? strlen(record) + 1 : 0;
    list = malloc(size + 1);
    if (record && list && slurm_job_field(record, "NodeList", list, size))
        hostlist_expand(list, &names, NULL);
    free(list);
    free(text);
    return names;
}

/* ---- Its steps ---- */

/* Is "JOB.STEP" a step of this job, and not of another task of its array? */
static bool step_is_ours(const char *step)
{
    const char *job = slurm_job_name();
    size_t n = strlen(job);

    return strncmp(step, job, n) == 0 && step[n] == '.';
}

/* A line is "STEP|NAME|NODES"; a name may hold anything. */
static void step_nodes_take(char *line, const char *name, char ***nodes)
{
    char *bar = strrchr(line, '|'), *first = strchr(line, '|'), **more = NULL;

    if (first == bar || !step_is_ours(line))
        return;
    *bar = '\0';
    if (strcmp(first + 1, name) == 0 && hostlist_expand(bar + 1, &more, NULL) == 0 &&
        more)
        argv_append_all(nodes, more, NULL);
    argv_free(more);
}

char **slurm_job_step_nodes(const char *name)
{
    char *argv[] = {(char *)"squeue",
                    (char *)"--noheader",
                    (char *)"--steps",
                    (char *)"--jobs",
                    (char *)slurm_job_id(),
                    (char *)"--format=%i|%j|%N",
                    NULL};
    char *text = NULL, *rest, *line, **nodes = NULL;
    struct batch_job job;

    if (!slurm_job_id() || (!is_known() && job_ask(&job, NULL) < 0) ||
        slurm_tool_read(argv, JOB_ANSWER_MAX_S, &text, NULL) < 0)
        return NULL;
    for (rest = text; (line = strsep(&rest, "\n"));)
        step_nodes_take(line, name, &nodes);
    free(text);
    return nodes;
}

/* ---- Before a step can be started ---- */

/* If the nodes of the job are being prepared, wait for them. */
static bool prolog_await(launcher_wait *wait, void (*say)(void *arg, const char *text),
                         void *arg)
{
    struct batch_job job;
    bool found = false;
    char text[160];

    while (job_ask(&job, NULL) == 0 && job.preparing) {
        snprintf(text, sizeof text,
                 "the nodes of job %.40s are being prepared (its prolog): waiting",
                 job.name);
        if (!found)
            say(arg, text);
        found = true;
        if (!wait(arg, PROLOG_LOOK_S))
            break;
    }
    return found;
}

bool slurm_await_ready(launcher_wait *wait, void (*say)(void *arg, const char *text),
                       void *arg)
{
    if (!slurm_job_id())
        return false;
    return slurm_controller_await(wait, arg) || prolog_await(wait, say, arg);
}

/* ---- Back to the queue ---- */

static int requeue_check(const struct batch_job *job, struct error *err)
{
    if (!job->has_script)
        return error_set(err, RAYTRAIN_EINVAL,
                         "job %s has no batch script; submit one with sbatch",
                         job->name);
    if (!job->may_requeue)
        return error_set(err, RAYTRAIN_EINVAL,
                         "job %s may not be requeued; submit it with sbatch "
                         "--requeue (now: scontrol update JobId=%s Requeue=1)",
                         job->name, job->name);
    if (!slurm_tool_exists("scontrol"))
        return error_set(err, RAYTRAIN_EINVAL,
                         "scontrol, which puts the job back into the queue, is not in "
                         "PATH; load Slurm's module, or add its directory to PATH");
    return 0;
}

static int job_requeue(const struct batch_job *job, struct error *err)
{
    char *argv[] = {(char *)"scontrol", (char *)"requeue", (char *)job->name, NULL};
    char *text = NULL;
    int rc = slurm_ask(argv, &text, err);

    free(text);
    return rc;
}

const struct batch_ops batch_slurm = {
    .name = "slurm",
    .job_id = slurm_job_id,
    .number = job_number,
    .restarts = job_restarts,
    .query_start = query_start,
    .query_poll = query_poll,
    .query_destroy = query_destroy,
    .recall = job_recall,
    .limits_start = limits_start,
    .limits_poll = limits_poll,
    .ask = job_ask,
    .await = job_await,
    .requeue_check = requeue_check,
    .requeue = job_requeue,
};
