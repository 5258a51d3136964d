/* task_worker.h - starts the worker of a task: its environment and its logs. */
#ifndef RAYTRAIN_TASK_TASK_WORKER_H
#define RAYTRAIN_TASK_TASK_WORKER_H

#include <stdbool.h>

#include "util/child.h"

struct task_worker_spec {
    char *const *argv;      /* the program and its arguments */
    char *const *variables; /* of the PMIx server of this attempt */
    const char *log_dir;    /* of this attempt */
    int attempt, rank, workers;
    /* The standard streams of this process are the logs of this attempt, as srun has
     * opened them. Otherwise the worker gets its own. */
    bool has_logs;
};

/* The worker leads a process group, and dies with this process. */
int task_worker_start(const struct task_worker_spec *spec, struct child *worker,
                      struct error *err);

#endif
