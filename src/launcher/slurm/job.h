/*
 * job.h - the Slurm job that this process runs in. The rest of raytrain-run asks
 * through batch_slurm (launch/batch_system.h), which job.c defines.
 */
#ifndef RAYTRAIN_SLURM_JOB_H
#define RAYTRAIN_SLURM_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/batch_system.h"
#include "launch/launcher.h"

/* SLURM_JOB_ID; NULL: this process is not in a job. */
const char *slurm_job_id(void);

/* The job's name for Slurm's commands. "ARRAY_TASK" for the task of a job array, once
 * Slurm has been asked about it: the id of the last task is that of the whole array.
 * NULL: as above. */
const char *slurm_job_name(void);

/* The nodes that the job has now: an argument vector; NULL: unknown. */
char **slurm_job_nodes(void);

/* Slots of launcher.h. */
char **slurm_job_step_nodes(const char *name);
bool slurm_await_ready(launcher_wait *wait, void (*say)(void *arg, const char *text),
                       void *arg);

/* The record of job `id`, a line, in the output of `scontrol --oneliner show job`; for
 * a job array, that lists other tasks as well. text is cut. NULL: not found. */
char *slurm_job_record(char *text, const char *id);
/* The value of KEY=VALUE, a separate word, in such a line. */
bool slurm_job_field(const char *line, const char *key, char *value, size_t size);

/* One line of squeue with the columns of job.c. False: not of job `id`, or
 * malformed. */
bool slurm_job_parse(const char *line, const char *id, struct batch_job *job);

/* The output of `scontrol show config`. False: it lacks the time or KillWait. */
bool slurm_limits_parse(const char *text, struct batch_limits *limits);

#endif
