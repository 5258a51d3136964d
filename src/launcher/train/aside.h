/*
 * aside.h - work on files that may take long, in a separate process. Meanwhile the
 * event loop of the run continues: signals are answered, and the display and callbacks
 * work.
 */
#ifndef RAYTRAIN_TRAIN_ASIDE_H
#define RAYTRAIN_TRAIN_ASIDE_H

#include <jansson.h>

#include "train/run.h"

/*
 * Runs in a copy of this process, without its threads; only changes to files remain.
 * *answer (NULL at first, and may stay so) and err are returned to this process.
 */
typedef int aside_work(void *arg, json_t **answer, struct error *err);

/*
 * work(arg), described by `what` ("write the result"). An ordinary request to stop does
 * not end it, since the work is limited. A request to stop at once, or the loss of the
 * run's lock, kills the process, and the caller removes what it may have left:
 * RAYTRAIN_ESTOPPED, or RAYTRAIN_ESTORAGE for the lock. If no process can be started,
 * this one does the work.
 */
int aside(struct run *run, const char *what, aside_work *work, void *arg,
          json_t **answer, struct error *err);

#endif
