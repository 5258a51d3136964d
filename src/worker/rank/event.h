/*
 * event.h - what this rank reports to the launcher during the training: events of the
 * attempt (protocol/events.h). The launcher shows notes and warnings to the user.
 *
 * An event that cannot be written is dropped: it must not end the training, and other
 * calls report storage that fails.
 */
#ifndef RAYTRAIN_RANK_EVENT_H
#define RAYTRAIN_RANK_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/events.h"

/* log_dir: NULL if there is no run, and the event is dropped. kind: one of the EVENT_
 * words. */
void event_add(const char *log_dir, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* EVENT_PROGRESS without a text: the user does not see it. */
void event_add_sign(const char *log_dir);

/* EVENT_TOTAL: for the display of progress. */
void event_add_total(const char *log_dir, int64_t iterations);

/* EVENT_GPU_ERROR. */
void event_add_gpu_error(const char *log_dir, const char *node, bool hardware,
                         const char *text);

/* EVENT_RESTORED: this attempt starts from the checkpoint at `path`, which the event
 * also names as "checkpoint": the launcher keeps it in the attempt's record. */
void event_add_restored(const char *log_dir, const char *path, long iteration);

#endif
