/*
 * events.h - events: what the workers report to the launcher while an attempt runs, one
 * JSON object each. The launcher gets them soon, on whichever node it runs, and appends
 * them to LOG_DIR/events.json.
 *
 * Each event is a file in LOG_DIR/events, which gets its name when it is complete: no
 * two nodes write to one file, and no node has to see one grow (journal.h). The
 * launcher takes it from there.
 */
#ifndef RAYTRAIN_PROTOCOL_EVENTS_H
#define RAYTRAIN_PROTOCOL_EVENTS_H

#include <jansson.h>

#include "util/error.h"

#define EVENTS_FILE "events.json"

/* The "kind" of an event, which has also "time" and mostly "text", which is shown. */
#define EVENT_NOTE    "note"    /* for the user */
#define EVENT_WARNING "warning" /* likewise */
#define EVENT_RESTORED                                                                 \
    "restored" /* the attempt starts from the checkpoint "checkpoint" */
#define EVENT_PROGRESS "progress" /* of a long operation: this is not a hang */
#define EVENT_JOINED   "joined"   /* all workers have found each other */
#define EVENT_TOTAL    "total" /* the expected number of iterations is "iterations" */
/* A GPU has failed: "node" is where, and "hardware" (a truth value) says whether it is the
 * GPU's fault rather than a program's. */
#define EVENT_GPU_ERROR "gpu_error"
#define EVENT_STARTED                                                                  \
    "started" /* training begins; every rank handles requests to stop */

/* Of a task that stays for several attempts (worker/task/task.h): the worker of rank
 * "rank" on "host" has ended other than with 0 or 75, with "exit_status" or by "signal";
 * "oom": meanwhile the kernel has killed a
 * process of the step on this node for lack of memory. Such an event of another user is
 * ignored. */
#define EVENT_TASK_FAILED "task_failed"
/* Of the task of rank 0: no worker of the attempt is left, and all tasks wait for an
 * order. */
#define EVENT_ATTEMPT_OVER "attempt_over"

/* -- the launcher -- */
/* Before the workers start. */
int events_create(const char *log_dir, struct error *err);
/* Call on_event (NULL is fine) for each event since the last call, in order of time. */
void events_take(const char *log_dir, void (*on_event)(void *arg, const json_t *event),
                 void *arg);
/* After the workers have ended: take what is left, and tidy up. */
void events_finish(const char *log_dir,
                   void (*on_event)(void *arg, const json_t *event), void *arg);

/* -- a worker -- */
int events_put(const char *log_dir, const json_t *event, struct error *err);

#endif
