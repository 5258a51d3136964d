/*
 * run_events.h - the reports of a run as event files of TensorBoard, in its directory.
 *
 * Each raytrain-run writes a new file. Together, the files have the first reports of
 * result.json without a gap, each once; the later ones can be added at any time. Before
 * a report that replaces later ones, because its attempt started from an earlier
 * checkpoint, an event tells TensorBoard so.
 */
#ifndef RAYTRAIN_TFEVENTS_RUN_EVENTS_H
#define RAYTRAIN_TFEVENTS_RUN_EVENTS_H

#include <jansson.h>

#include "tfevents/summary_event.h"
#include "util/error.h"

/* The longest vector whose elements become curves; longer ones are left out. */
#define RUN_EVENTS_VECTOR_MAX 32

struct run_events;

/* Reads and writes nothing yet. Takes ownership of the hyperparameters, an object
 * without groups. NULL without memory. */
struct run_events *run_events_new(const char *run_dir, json_t *parameters);
void run_events_free(struct run_events *events); /* NULL is fine */

/* Add the reports of result.json that the files lack. */
int run_events_catch_up(struct run_events *events, struct error *err);
/* Add a report, unless run_events_catch_up() has added it. */
int run_events_add(struct run_events *events, const json_t *report, struct error *err);
/* Write how the run has ended, if reports were added. */
int run_events_end(struct run_events *events, enum tfevents_status status,
                   struct error *err);
/* Write what was added. After a failure, records are kept up to a limit, and the rest
 * is caught up when storage works again. */
int run_events_flush(struct run_events *events, struct error *err);

#endif
