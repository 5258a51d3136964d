/*
 * journal.h - a journal: records, one per line, that one process writes and another
 * follows on another node; the files DIR/NAME.0, DIR/NAME.1, ...
 *
 * A node may continue to see the size that a file had when it first looked at it. So
 * these files do not grow: each gets its name when it has its full size, all zeros, and
 * lines replace zeros. A full file ends with the line "+", which is written once the
 * next file, twice as large, exists. A line that contains a zero is not completely
 * visible yet.
 *
 * There is one writer, and any number of readers. For each line the writer opens a file
 * write-only and closes it again: the close makes network storage send the data, and
 * the open makes it look for new data.
 */
#ifndef RAYTRAIN_RUN_JOURNAL_H
#define RAYTRAIN_RUN_JOURNAL_H

#include <stddef.h>

#include "util/error.h"

/* Create the first file, unless it exists. */
int journal_create(const char *dir, const char *name, struct error *err);
/* Remove all files of a journal. Missing files are not an error. */
void journal_remove(const char *dir, const char *name);
/* Remove what a process that was killed in journal_create() has left. */
void journal_tidy(const char *dir, const char *name);

/* -- write -- */
/* Open it for appending, and create it if it does not exist. */
struct journal;
int journal_open(const char *dir, const char *name, struct journal **out,
                 struct error *err);
/* Append a line, without newlines and zeros. A line that could not be written does not
 * exist; the next one takes its place. */
int journal_append(struct journal *j, const char *line, size_t n, struct error *err);
/* The current file, for messages. */
const char *journal_path(const struct journal *j);
void journal_close(struct journal *j); /* does not sync; NULL is fine */
/* Make all lines that this node has written durable. A journal that does not exist has
 * none. */
int journal_sync(const char *dir, const char *name, struct error *err);

/* -- read -- */
struct journal_reader;
int journal_reader_open(const char *dir, const char *name, struct journal_reader **out,
                        struct error *err);
/* Call on_line for each complete line since the last call. A journal that does not
 * exist yet has none. */
int journal_poll(struct journal_reader *r,
                 void (*on_line)(void *arg, const char *line, size_t n), void *arg,
                 struct error *err);
void journal_reader_close(struct journal_reader *r); /* NULL is fine */
/* The last complete line, malloc'ed, NULL if there is none; only the end of a file is
 * read. */
int journal_last_line(const char *dir, const char *name, char **line,
                      struct error *err);

#endif
