/*
 * batch_system.h - the interface to a batch system: the job that this process runs in.
 *
 * It does not depend on the launcher: a run whose workers are local processes
 * (--launcher local) also ends with the job around it.
 *
 * To add one: define a `struct batch_ops`, and add it to the table in batch_system.c.
 */
#ifndef RAYTRAIN_LAUNCH_BATCH_SYSTEM_H
#define RAYTRAIN_LAUNCH_BATCH_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define BATCH_NUMBER_MAX 24
#define BATCH_NAME_MAX   (2 * BATCH_NUMBER_MAX)

struct batch_job {
    int64_t start;    /* Unix time, as end; 0: not known */
    int64_t end;      /* Unix time at which the batch system ends it; 0: no limit */
    bool preempted;   /* it has to make room for another job */
    bool running;     /* and not cancelled, timed out or completing */
    bool preparing;   /* its nodes run a prolog: no group can be started yet */
    bool has_script;  /* it is a batch job, not an interactive one */
    bool may_requeue; /* it may go back to the queue */
    /* As the batch system's commands accept it. A task of a job array has its own name,
     * since its id may be that of the whole array. */
    char name[BATCH_NAME_MAX];
    char array[BATCH_NUMBER_MAX]; /* the job array that it is a task of; "": none */
    char task[BATCH_NUMBER_MAX];  /* which one */
};

/* How the batch system ends every job. */
struct batch_limits {
    double now;         /* Unix time by its own clock, to the second, as it answered */
    /* from the request to end, at the job's end or when it is cancelled, until its
     * processes are killed */
    double kill_wait_s;
};

/* The numbers by which a job is known. */
enum batch_number {
    BATCH_JOB,
    BATCH_ARRAY, /* of the job array that it is a task of */
    BATCH_TASK   /* which one */
};

struct batch_query; /* each batch system's own */

struct batch_ops {
    const char *name;
    /* The id of the job that this process runs in; NULL: it is not in a job of this
     * batch system, and no other slot is called. */
    const char *(*job_id)(void);
    /* As text; NULL: this job has none. A job inherits the variables of a job array in
     * which it was submitted, so if there are any, await asks first. Without an answer
     * they are used as they are. */
    const char *(*number)(enum batch_number which);
    /* How often the job has been put back into the queue, by its environment. */
    int (*restarts)(void);
    /* A question about the job whose answer is polled for. poll never blocks; *done:
     * *job is filled; -1: there is no answer, or it has taken too long. In both cases
     * the query may then only be destroyed. destroy takes NULL. */
    int (*query_start)(struct batch_query **out, struct error *err);
    int (*query_poll)(struct batch_query *query, bool *done, struct batch_job *job,
                      struct error *err);
    void (*query_destroy)(struct batch_query *query);
    /* The latest answer, if it is not older than max_age_s. Does not ask. */
    bool (*recall)(double max_age_s, struct batch_job *job);
    /* A question about the limits, as one about the job. */
    int (*limits_start)(struct batch_query **out, struct error *err);
    int (*limits_poll)(struct batch_query *query, bool *done,
                       struct batch_limits *limits, struct error *err);
    /* The same question; waits some seconds for the answer, unless this process is
     * asked to stop meanwhile (event/attention.h). */
    int (*ask)(struct batch_job *job, struct error *err);
    /* The same, but asks again while the batch system does not answer, as long as
     * batch_patience() allows. */
    int (*await)(struct batch_job *job, struct error *err);
    /* Both take the job as ask or await returned it. May it go back to the queue?
     * RAYTRAIN_EINVAL says why not, and how to submit one that may. */
    int (*requeue_check)(const struct batch_job *job, struct error *err);
    /* End it and put it back into the queue. The batch system then kills the job's
     * script, and this process with it: call it last. */
    int (*requeue)(const struct batch_job *job, struct error *err);
};

extern const struct batch_ops batch_slurm;

/* The batch system whose job this process runs in; NULL: it is not in a job. */
const struct batch_ops *batch_find(void);

/* How long an essential question is repeated while the batch system does not answer,
 * and how the user is informed. It holds for the whole process; the default, 0, asks
 * once. */
struct batch_patience {
    double seconds;
    void (*say)(const char *text);
};
void batch_patience_set(double seconds, void (*say)(const char *text));
const struct batch_patience *batch_patience(void);

#endif
