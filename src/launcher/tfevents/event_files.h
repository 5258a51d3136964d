/*
 * event_files.h - the event files of a run: events.out.tfevents.TIME.HOST.PID.raytrain
 * in its directory. TensorBoard reads the files of a directory in the order of their
 * names; those of other programs are left alone.
 */
#ifndef RAYTRAIN_TFEVENTS_EVENT_FILES_H
#define RAYTRAIN_TFEVENTS_EVENT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* A path for a new file that sorts after all existing ones. *path is malloc'ed. */
int event_files_new(const char *dir, char **path, struct error *err);
/* The last event in the run's files that has a number with this tag. *found: there is
 * one; then *step and *value are set. */
int event_files_last(const char *dir, const char *tag, bool *found, int64_t *step,
                     double *number, struct error *err);

/*
 * How a run has ended is in a separate file, PATH.end for the file PATH. TensorBoard
 * keeps the first end that it finds, so the file is removed when the run continues.
 */
#define EVENT_FILES_END ".end"
int event_files_remove_ends(const char *dir, struct error *err);

#endif
