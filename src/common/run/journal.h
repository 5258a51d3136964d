/*
 * journal.h - lines that one process writes and another follows, on another node: the
 * files DIR/NAME.0, DIR/NAME.1, ...
 *
 * Storage may go on showing the size that a file had when a node first looked at it. So
 * these files do not grow: each gets its name when it has its full size, all zeros, and
 * lines take the place of zeros. One that is full ends with the line "+", written when
 * the next file, twice as large, is there. A line that holds a zero is only partly
 * visible yet.
 *
 * There is one writer, and any number of readers. The writer opens a file write-only,
 * for each line, and closes it again: it is the close that makes network storage send
 * what was written, and the open that makes it look for what is new.
 */
#ifndef RAYTRAIN_RUN_JOURNAL_H
#define RAYTRAIN_RUN_JOURNAL_H

#include <stddef.h>

#include "util/error.h"

/* Make the first file, if it is not there. */
int journal_create(const char *dir, const char *name, struct error *err);
/* Remove all files of one. What is not there is no error. */
void journal_remove(const char *dir, const char *name);
/* Remove what a process that was killed while it made the first one has left. */
void journal_tidy(const char *dir, const char *name);

/* -- write -- */
/* Goes on behind what is there, and creates it if nothing is. */
struct journal;
int journal_open(const char *dir, const char *name, struct journal **out,
                 struct error *err);
/* Add a line, without a newline or a zero in it. A line that could not be written is
 * not there, and the next one takes its place. */
int journal_append(struct journal *j, const char *line, size_t n, struct error *err);
/* The file that takes lines, for messages. */
const char *journal_path(const struct journal *j);
void journal_close(struct journal *j); /* unsynced; NULL is fine */
/* All lines that this node has written are durable. A journal that is not there has
 * none. */
int journal_sync(const char *dir, const char *name, struct error *err);

/* -- read -- */
struct journal_reader;
int journal_reader_open(const char *dir, const char *name, struct journal_reader **out,
                        struct error *err);
/* Calls on_line for each complete line since the last call. What is not there yet has
 * no lines. */
int journal_poll(struct journal_reader *r,
                 void (*on_line)(void *arg, const char *line, size_t n), void *arg,
                 struct error *err);
void journal_reader_close(struct journal_reader *r); /* NULL is fine */

#endif
