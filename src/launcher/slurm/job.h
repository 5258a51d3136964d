/*
 * job.h - the Slurm job that this process runs in: until when it may run, whether
 * it is being preempted, and back to the queue with it.
 *
 * Slurm is asked (squeue), never guessed: the end moves when an administrator extends
 * the job, and when it is preempted with a grace time.
 */
#ifndef RAYTRAIN_SLURM_JOB_H
#define RAYTRAIN_SLURM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct slurm_job {
    int64_t end;    /* Unix time at which Slurm ends it; 0: no limit */
    bool preempted; /* it is to make room for another one */
    bool running;   /* and not cancelled, timed out or completing */
    bool prolog;    /* its nodes are being prepared: no step can be started yet */
    bool batch;     /* it has a batch script */
    bool requeue;   /* it may go back to the queue */
};

/* SLURM_JOB_ID; NULL: this process is in no job. */
const char *slurm_job_id(void);

/* A question that is on its way. */
struct slurm_query;
int slurm_query_start(struct slurm_query **out, struct error *err);
/* Never blocks. *done: job is filled. -1: there is no answer, also where it takes
 * longer than 10 s. */
int slurm_query_poll(struct slurm_query *query, bool *done, struct slurm_job *job,
                     struct error *err);
void slurm_query_destroy(struct slurm_query *query); /* NULL is fine */

/* The same, and wait for the answer, unless this process is asked to stop meanwhile. */
int slurm_job_ask(struct slurm_job *job, struct error *err);
/* The same, also while the controller is away (controller_wait.h). */
int slurm_job_await(struct slurm_job *job, struct error *err);

/* The nodes of the job's steps of this name: an argument vector; NULL: there is no such
 * step, or no answer. */
char **slurm_job_step_nodes(const char *name);

/* End the job and put it back into the queue (scontrol requeue). Slurm kills the batch
 * script, and this process with it, as soon as it has heard: come here last. */
int slurm_job_requeue(struct error *err);

/* The nodes that the job has now: an argument vector; NULL: unknown. */
char **slurm_job_nodes(void);

/* The record of job `id`, a line, in what `scontrol --oneliner show job` has printed;
 * of a job array it prints other tasks as well. text is cut. NULL: it is not there. */
char *slurm_job_record(char *text, const char *id);
/* The value of KEY=VALUE, a word of its own, in such a line. */
bool slurm_job_field(const char *line, const char *key, char *value, size_t size);

/* One line of squeue with the columns of job.c. False: not of job `id`, or
 * nonsense. */
bool slurm_job_parse(const char *line, const char *id, struct slurm_job *job);

#endif
