/*
 * task.h - a task of a step that stays for several attempts of the run:
 *
 *     raytrain-task PROGRAM [ARG...]
 *
 * PROGRAM is a worker, or what becomes one. The task starts it for the attempt of its
 * environment, and for a later one when the launcher orders that (task_orders.h). It is
 * the only client of the step's PMIx server, so a worker that dies does not take the
 * step with it; each attempt has PMIx servers of its own, one a node (task_group.h).
 *
 * A worker that fails is reported to the launcher (EVENT_TASK_FAILED), and the task
 * waits for orders. If the workers of all ranks end with 0 or 75 (EX_TEMPFAIL), the
 * tasks do so, too.
 */
#ifndef RAYTRAIN_TASK_TASK_H
#define RAYTRAIN_TASK_TASK_H

#include "util/error.h"

/* argv: PROGRAM and its arguments. Returns the exit status of this process; if it is
 * not 0, err has the reason unless the worker has reported it. Does not return if the
 * worker was killed by a signal and no order can come: this process ends by that, too. */
int task_run(char *const *argv, struct error *err);

#endif
