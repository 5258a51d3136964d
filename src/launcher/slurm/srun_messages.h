/*
 * srun_messages.h - what srun says on its standard error, line by line: the number of
 * its step, who has started, which task on which node ended how, what went wrong.
 *
 * A table of templates (srun_messages.c) of `srun --verbose`, as Slurm 20.11 to 26.05
 * have it. All of it is detail: whether the group failed, or stopped, is known from
 * srun's exit status, and from the workers' own record (protocol/worker_record.h).
 * Lines that no template knows are kept as they are in outcome.detail if they look like
 * an error.
 */
#ifndef RAYTRAIN_SLURM_SRUN_MESSAGES_H
#define RAYTRAIN_SLURM_SRUN_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/launcher.h"

struct step_watch {
    int workers;
    char step[64];  /* "4711.3"; "" as long as it is not known */
    int started;    /* tasks */
    int ended;      /* tasks that are known to have ended */
    bool refused;   /* the step, or a task of it, could not be started */
    bool cancelled; /* it was ended as a whole before a task was known to have failed */
    bool crashed;   /* the one in outcome died of a signal of its own */
    bool killing;   /* the step is being killed, by us */
    bool oom;       /* Slurm has seen the kernel kill a task for lack of memory */
    bool waiting;   /* it waits for CPUs that another step holds */
    struct {
        int tasks, status; /* as of waitpid; -1: not told */
    } next;                /* of the tasks of the next line, how many and how ended */
    int suspect;           /* a task whose end srun tells in unknown words; -1: none */
    char last[256];        /* the last line that no template knows */
    struct launch_outcome outcome;
};

void step_watch_init(struct step_watch *w, int workers);
/* One line, without its newline. */
void step_watch_line(struct step_watch *w, const char *line);
/*
 * srun is gone, with this wait status: complete the outcome. A rank without a host gets
 * that of the plan.
 */
void step_watch_finish(struct step_watch *w, int wait_status,
                       const struct placement *plan);

#endif
