/*
 * run_events.h - the reports of a run as event files of TensorBoard, in its directory.
 *
 * Every launcher writes a file of its own. The files together have the first reports of
 * result.json without a gap, each once; those that are missing at its end can be caught up
 * at any time. A report that takes the place of later ones, since its attempt has started
 * from an earlier checkpoint, follows an event from which TensorBoard learns that.
 */
#ifndef RAYTRAIN_TFEVENTS_RUN_EVENTS_H
#define RAYTRAIN_TFEVENTS_RUN_EVENTS_H

#include <jansson.h>

#include "tfevents/summary_event.h"
#include "util/error.h"

/* Elements of a vector, each of which becomes a curve; longer ones are left out. */
#define RUN_EVENTS_VECTOR_MAX 32

struct run_events;

/* Nothing is read or written yet. Takes ownership of the hyperparameters, an object
 * without groups. NULL without memory. */
struct run_events *run_events_new(const char *run_dir, json_t *parameters);
void run_events_free(struct run_events *events); /* NULL is fine */

/* What the files lack of result.json. */
int run_events_catch_up(struct run_events *events, struct error *err);
/* A report, unless run_events_catch_up() has found it. */
int run_events_add(struct run_events *events, const json_t *report, struct error *err);
/* How the run has ended, if this launcher has added reports. */
int run_events_end(struct run_events *events, enum tfevents_status status,
                   struct error *err);
/* Write what was added. After a failure, it is kept up to a limit, and the rest is
 * caught up when storage is well again. */
int run_events_flush(struct run_events *events, struct error *err);

#endif
