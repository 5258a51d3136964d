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

/* A path for a new file, later in order than all that are there. *path is malloc'ed. */
int event_files_new(const char *dir, char **path, struct error *err);
/* The last event in the run's files that has a number of this tag. *found: there is
 * one, with this step and number. */
int event_files_last(const char *dir, const char *tag, bool *found, int64_t *step,
                     double *number, struct error *err);

/*
 * How a run has ended is in a file of its own, PATH.end for the file PATH: TensorBoard
 * keeps the first end that it finds, so it has to go if the run goes on.
 */
#define EVENT_FILES_END ".end"
int event_files_remove_ends(const char *dir, struct error *err);

#endif
