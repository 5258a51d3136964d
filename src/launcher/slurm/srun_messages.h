/*
 * srun_messages.h - srun's messages on its standard error, line by line: the id of its
 * step, which tasks have started, how each task on each node ended, what went wrong.
 *
 * srun_messages.c has a table of templates for the output of `srun --verbose` in Slurm
 * 20.11 to 26.05. The messages only add detail: whether the group failed or stopped is
 * known from srun's exit status and from the workers' own record
 * (protocol/worker_record.h). Lines that no template matches go into
 * outcome.failure.message unchanged if they look like an error.
 */
#ifndef RAYTRAIN_SLURM_SRUN_MESSAGES_H
#define RAYTRAIN_SLURM_SRUN_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/launcher.h"

struct step_watch {
    int workers;
    char step[64];  /* "4711.3"; "": not known yet */
    int started;    /* tasks */
    int ended;      /* tasks known to have ended */
    bool refused;   /* the step, or a task of it, could not be started */
    bool cancelled; /* the whole step was cancelled, probably before a task failed */
    bool crashed; /* the task in outcome was killed by a signal that we did not send */
    bool killing; /* we are killing the step */
    bool oom;     /* Slurm reported an out-of-memory kill */
    bool waiting; /* the step waits for CPUs that another one holds */
    struct {
        int tasks, status; /* as of waitpid; -1: not reported */
    } next;         /* the tasks of the next line: how many, and how they ended */
    int suspect;    /* a task whose end srun described in an unknown way; -1: none */
    char last[256]; /* the last line that no template matched */
    struct launch_outcome outcome;
};

void step_watch_init(struct step_watch *w, int workers);
/* One line, without its newline. */
void step_watch_line(struct step_watch *w, const char *line);
/* What a task that outlives its worker says about the end of the worker. */
struct worker_report {
    int rank, exit_status, signal;
    bool oom;
    const char *host;
};
void step_watch_worker(struct step_watch *w, const struct worker_report *report);
/* Another attempt starts in the step. */
void step_watch_again(struct step_watch *w);
/*
 * srun has ended with this wait status: complete the outcome. If the host of the rank
 * was not reported, it is taken from the plan.
 */
void step_watch_finish(struct step_watch *w, int wait_status,
                       const struct placement *plan);

#endif
