#include "config.h"

#include "launch/slurm_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/slurm_tool.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/quote.h"

extern char **environ;

#define ANSWER_MAX_S 10.0 /* Slurm's own patience with its controller is longer */

/* No column holds what a user may have written: none can be mistaken for another. Times
 * come as Unix time, by SLURM_TIME_FORMAT. */
#define COLUMNS "JobID:20,EndTime:32,PreemptTime:32,State:24,Requeue:8,BatchFlag:8"

struct slurm_query {
    struct slurm_tool *squeue;
    double until; /* clock_now() */
};

const char *slurm_job_id(void)
{
    const char *id = getenv("SLURM_JOB_ID");

    return id && *id ? id : NULL;
}

/* ---- The answer -------------------------------------------------------------------
 */

/* "Unknown", "NONE", "N/A": 0 */
static int64_t time_parse(const char *text)
{
    char *end;
    long long t = strtoll(text, &end, 10);

    return end > text && *end == '\0' && t > 0 ? t : 0;
}

bool slurm_job_parse(const char *line, const char *id, struct slurm_job *job)
{
    char number[24], end[36], preempted[36], state[28], requeue[12], batch[12];

    if (sscanf(line, "%23s %35s %35s %27s %11s %11s", number, end, preempted, state,
               requeue, batch) != 6 ||
        strcmp(number, id) != 0)
        return false;
    *job = (struct slurm_job){.end = time_parse(end),
                              .preempted = time_parse(preempted) > 0,
                              .running = strcmp(state, "RUNNING") == 0,
                              .batch = strcmp(batch, "1") == 0,
                              .requeue = strcmp(requeue, "1") == 0};
    return true;
}

/* Of a job array, squeue may tell of more jobs than the one it is asked for. */
static int answer_find(const char *text, struct slurm_job *job, struct error *err)
{
    const char *id = slurm_job_id(), *line = text;
    char quoted[QUOTE_TEXT_MAX];

    while (id && line) {
        if (slurm_job_parse(line, id, job))
            return 0;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return error_set(err, RAYTRAIN_ENOTSUP, "squeue does not know job %s: %s",
                     id ? id : "(none)", quote(text, quoted));
}

/* ---- The question -----------------------------------------------------------------
 */

/* A user's own settings of squeue could hide the job. */
static int query_env(char ***out, struct error *err)
{
    char **env = NULL;

    for (char **e = environ; *e; e++)
        if (strncmp(*e, "SQUEUE_", 7) != 0 &&
            strncmp(*e, "SLURM_TIME_FORMAT=", 18) != 0 &&
            argv_append(&env, *e, err) < 0)
            goto fail;
    if (argv_append(&env, "SLURM_TIME_FORMAT=%s", err) == 0) {
        *out = env;
        return 0;
    }
fail:
    argv_free(env);
    return -1;
}

static int squeue_start(char *const *argv, struct slurm_query **out, struct error *err)
{
    struct slurm_query *q;
    char **env = NULL;
    int rc;

    if (!(q = calloc(1, sizeof *q)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    q->until = clock_now() + ANSWER_MAX_S;
    rc = query_env(&env, err);
    if (rc == 0)
        rc = slurm_tool_start(argv, env, &q->squeue, err);
    argv_free(env);
    if (rc < 0)
        slurm_query_destroy(q);
    else
        *out = q;
    return rc;
}

/* Never blocks. *done: *text is the answer, which the caller frees. */
static int squeue_poll(struct slurm_query *q, bool *done, char **text,
                       struct error *err)
{
    int rc = slurm_tool_poll(q->squeue, done, text, err);

    if (rc == 0 && !*done && clock_now() > q->until)
        rc = error_set(err, RAYTRAIN_ENOTSUP, "squeue has not answered for %.0f s",
                       ANSWER_MAX_S);
    return rc;
}

static void squeue_wait(const struct slurm_query *q)
{
    double left = q->until - clock_now();

    slurm_tool_wait(q->squeue, left > 0 ? (int)(left * 1e3) + 1 : 0);
}

int slurm_query_start(struct slurm_query **out, struct error *err)
{
    char *argv[] = {(char *)"squeue",
                    (char *)"--noheader",
                    (char *)"--jobs",
                    (char *)slurm_job_id(),
                    (char *)"--Format",
                    (char *)COLUMNS,
                    NULL};

    if (!slurm_job_id())
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "this is no job of Slurm's (SLURM_JOB_ID is not set)");
    return squeue_start(argv, out, err);
}

int slurm_query_poll(struct slurm_query *q, bool *done, struct slurm_job *job,
                     struct error *err)
{
    char *text;
    int rc = squeue_poll(q, done, &text, err);

    if (rc == 0 && *done) {
        rc = answer_find(text, job, err);
        free(text);
    }
    return rc;
}

void slurm_query_destroy(struct slurm_query *q)
{
    if (!q)
        return;
    slurm_tool_destroy(q->squeue);
    free(q);
}

int slurm_job_ask(struct slurm_job *job, struct error *err)
{
    struct slurm_query *q = NULL;
    bool done = false;
    int rc = slurm_query_start(&q, err);

    while (rc == 0 && !done) {
        squeue_wait(q);
        rc = slurm_query_poll(q, &done, job, err);
    }
    slurm_query_destroy(q);
    return rc;
}

/* ---- Its steps --------------------------------------------------------------------
 */

static bool line_is_in(const char *text, const char *line)
{
    size_t n = strlen(line);

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strncmp(text, line, n) == 0 && (text[n] == '\n' || text[n] == '\0'))
            return true;
    return false;
}

bool slurm_job_has_step(const char *name)
{
    char *argv[] = {(char *)"squeue",
                    (char *)"--noheader",
                    (char *)"--steps",
                    (char *)"--jobs",
                    (char *)slurm_job_id(),
                    (char *)"--format=%j",
                    NULL};
    struct slurm_query *q = NULL;
    bool done = false, found = false;
    char *text = NULL;
    int rc = slurm_job_id() ? squeue_start(argv, &q, NULL) : -1;

    while (rc == 0 && !done) {
        squeue_wait(q);
        rc = squeue_poll(q, &done, &text, NULL);
    }
    if (rc == 0) {
        found = line_is_in(text, name);
        free(text);
    }
    slurm_query_destroy(q);
    return found;
}

/* ---- Back to the queue ------------------------------------------------------------
 */

int slurm_job_requeue(struct error *err)
{
    char *argv[] = {(char *)"scontrol", (char *)"requeue", (char *)slurm_job_id(),
                    NULL};
    char *text = NULL;
    int rc = slurm_tool_read(argv, &text, err);

    free(text);
    return rc;
}
