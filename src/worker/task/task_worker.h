/* task_worker.h - starts the worker of a task: its environment and its logs. */
#ifndef RAYTRAIN_TASK_TASK_WORKER_H
#define RAYTRAIN_TASK_TASK_WORKER_H

#include <stdbool.h>

#include "util/child.h"

struct task_worker_spec {
    char *const *argv;      /* the program and its arguments */
    char *const *variables; /* of the PMIx server of this attempt */
    const char *log_dir;    /* of this attempt */
    const char *mark;       /* the value of WORKER_TASK_MARK */
    int attempt, rank, workers;
    int left; /* the descriptor that WORKER_TASK_DESCRIPTOR names */
    /* The standard output of this process is the log of this attempt, as srun has opened
     * it. Otherwise the worker gets its own. */
    bool has_log;
};

/* Let the standard error of this process be the log of a later attempt, which worker and
 * PMIx server inherit. */
int task_errors_redirect(const struct task_worker_spec *spec, struct error *err);
/* The worker leads a process group, and dies with this process. */
int task_worker_start(const struct task_worker_spec *spec, struct child *worker,
                      struct error *err);

#endif
