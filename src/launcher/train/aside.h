/*
 * aside.h - work on files that may take long, in a process of its own. Meanwhile the event
 * loop of the run turns: signals are answered, and the display and callbacks go on.
 */
#ifndef RAYTRAIN_TRAIN_ASIDE_H
#define RAYTRAIN_TRAIN_ASIDE_H

#include <jansson.h>

#include "train/run.h"

/*
 * What is done in a copy of this process: it changes nothing but files, and has no
 * threads. *answer (it begins as NULL, and may stay so) and err are brought back.
 */
typedef int aside_work(void *arg, json_t **answer, struct error *err);

/*
 * work(arg), described by `what` ("write the result"). A request to stop does not end it,
 * since the work is limited, except one to stop at once; so does the loss of the lock of
 * the run. Then the process is killed wherever it is, and the caller removes what it may
 * have left: RAYTRAIN_ESTOPPED, or RAYTRAIN_ESTORAGE for the lock. If the system has no
 * room for another process, the work is done by this one.
 */
int aside(struct run *run, const char *what, aside_work *work, void *arg,
          json_t **answer, struct error *err);

#endif
