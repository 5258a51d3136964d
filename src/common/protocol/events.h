/*
 * events.h - what the workers of an attempt say while it goes on: one JSON object at a
 * time, of which the launcher hears soon, on whatever node it is, and which end up as
 * the lines of LOG_DIR/events.json.
 *
 * An event is a file of its own in LOG_DIR/events, which has its name when it is
 * complete: no two nodes write to one file, and no node has to see one grow
 * (journal.h). The launcher takes it from there.
 */
#ifndef RAYTRAIN_PROTOCOL_EVENTS_H
#define RAYTRAIN_PROTOCOL_EVENTS_H

#include <jansson.h>

#include "util/error.h"

#define EVENTS_FILE "events.json"

/* -- the launcher -- */
/* Before the workers start. */
int events_create(const char *log_dir, struct error *err);
/* Calls on_event for each event since the last call (NULL is fine), in order of time.
 */
void events_take(const char *log_dir, void (*on_event)(void *arg, const json_t *event),
                 void *arg);
/* The workers are gone: take what is left, and tidy up. */
void events_finish(const char *log_dir,
                   void (*on_event)(void *arg, const json_t *event), void *arg);

/* -- a worker -- */
int events_put(const char *log_dir, const json_t *event, struct error *err);

#endif
