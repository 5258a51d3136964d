#include "config.h"

#include "launch/slurm_job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/slurm_tool.h"
#include "util/argv.h"
#include "util/child.h"
#include "util/clock.h"
#include "util/quote.h"

extern char **environ;

#define ANSWER_MAX_S 10.0 /* Slurm's own patience with its controller is longer */

/* No column holds what a user may have written: none can be mistaken for another. Times
 * come as Unix time, by SLURM_TIME_FORMAT. */
#define COLUMNS "JobID:20,EndTime:32,PreemptTime:32,State:24,Requeue:8,BatchFlag:8"

struct slurm_query {
    struct child squeue;
    int fd;
    double until; /* clock_now() */
    bool eof;
    char text[4096];
    size_t used;
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
static int answer_find(const struct slurm_query *q, struct slurm_job *job,
                       struct error *err)
{
    const char *id = slurm_job_id(), *line = q->text;
    char quoted[QUOTE_TEXT_MAX];

    while (id && line) {
        if (slurm_job_parse(line, id, job))
            return 0;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return error_set(err, RAYTRAIN_ENOTSUP, "squeue does not know job %s: %s",
                     id ? id : "(none)", quote(q->text, quoted));
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

static int query_spawn(struct slurm_query *q, char *const *env, struct error *err)
{
    char *argv[] = {(char *)"squeue",
                    (char *)"--noheader",
                    (char *)"--jobs",
                    (char *)slurm_job_id(),
                    (char *)"--Format",
                    (char *)COLUMNS,
                    NULL};
    int fds[2], rc;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot make a pipe: %s",
                         strerror(errno));
    q->fd = fds[0];
    rc = child_spawn(&(struct child_spec){.argv = argv,
                                          .env = env,
                                          .in = -1,
                                          .out = fds[1],
                                          .err = fds[1],
                                          .die_with_parent = true},
                     &q->squeue, err);
    close(fds[1]);
    if (rc == 0 && fcntl(q->fd, F_SETFL, O_NONBLOCK) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "cannot listen to squeue: %s",
                       strerror(errno));
    return rc;
}

int slurm_query_start(struct slurm_query **out, struct error *err)
{
    struct slurm_query *q;
    char **env = NULL;
    int rc;

    if (!slurm_job_id())
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "this is no job of Slurm's (SLURM_JOB_ID is not set)");
    if (!(q = calloc(1, sizeof *q)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    q->squeue = (struct child)CHILD_INIT;
    q->fd = -1;
    q->until = clock_now() + ANSWER_MAX_S;
    rc = query_env(&env, err);
    if (rc == 0)
        rc = query_spawn(q, env, err);
    argv_free(env);
    if (rc < 0)
        slurm_query_destroy(q);
    else
        *out = q;
    return rc;
}

/* All that is there to read now; what does not fit is no answer. */
static void query_read(struct slurm_query *q)
{
    char beyond[256];
    ssize_t n;

    do {
        size_t room = sizeof q->text - 1 - q->used;

        n = read(q->fd, room ? q->text + q->used : beyond, room ? room : sizeof beyond);
        if (n > 0 && room)
            q->used += (size_t)n;
    } while (n > 0 || (n < 0 && errno == EINTR));
    q->eof = n == 0;
}

int slurm_query_poll(struct slurm_query *q, bool *done, struct slurm_job *job,
                     struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    bool gone = false;
    int status = 0;

    *done = false;
    if (!q->eof)
        query_read(q);
    if (q->eof && child_reap(&q->squeue, &gone, &status, err) < 0)
        return -1;
    if (gone && status != 0)
        return error_set(err, RAYTRAIN_ENOTSUP, "squeue failed: %s",
                         quote(q->text, quoted));
    if (gone) {
        *done = true;
        return answer_find(q, job, err);
    }
    if (clock_now() > q->until)
        return error_set(err, RAYTRAIN_ENOTSUP, "squeue has not answered for %.0f s",
                         ANSWER_MAX_S);
    return 0;
}

void slurm_query_destroy(struct slurm_query *q)
{
    if (!q)
        return;
    child_clear(&q->squeue);
    if (q->fd >= 0)
        close(q->fd);
    free(q);
}

/* Wait for what comes first: more to read, the end of squeue, the end of patience. */
static void query_wait(const struct slurm_query *q)
{
    struct pollfd p = {.fd = q->eof ? q->squeue.pidfd : q->fd, .events = POLLIN};
    double left = q->until - clock_now();

    poll(&p, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
}

int slurm_job_ask(struct slurm_job *job, struct error *err)
{
    struct slurm_query *q = NULL;
    bool done = false;
    int rc = slurm_query_start(&q, err);

    while (rc == 0 && !done) {
        query_wait(q);
        rc = slurm_query_poll(q, &done, job, err);
    }
    slurm_query_destroy(q);
    return rc;
}

bool slurm_job_is_preempted(void)
{
    struct slurm_job job;

    return slurm_job_id() && slurm_job_ask(&job, NULL) == 0 && job.preempted;
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
