/*
 * views.h - raytrain-inspect's views: each makes a JSON object of what it looks at;
 * the text is printed from that object, so that both say the same.
 */
#ifndef RAYTRAIN_INSPECT_VIEWS_H
#define RAYTRAIN_INSPECT_VIEWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "checkpoint/checkpoint.h"

/* One checkpoint: what it says of itself. `tensors`: with the table of them. A damaged
 * one is an object, too, with "error"; *err holds the reason then. NULL: no memory. */
json_t *inspect_checkpoint(const char *path, bool tensors, bool verify,
                           struct error *err);
void inspect_checkpoint_print(FILE *out, const json_t *checkpoint);

/* A run directory. With `verify` all checkpoints are read. NULL on failure. */
json_t *inspect_run(const char *path, bool verify, struct error *err);
void inspect_run_print(FILE *out, const json_t *run);

/* A metric over iterations, as text. */
int inspect_plot(FILE *out, const char *run, const char *metric, struct error *err);

/* Write the tensors of a checkpoint into a directory that is not there yet, or empty:
 * all of them or nothing. An object that says what was written; NULL on failure. */
json_t *inspect_export(const char *path, const char *dir, struct error *err);
void inspect_export_print(FILE *out, const json_t *export);

/* Compare the tensors of two checkpoints. "same" in the object says whether all have the
 * same bits. NULL on failure. */
json_t *inspect_diff(const char *a, const char *b, struct error *err);
void inspect_diff_print(FILE *out, const json_t *diff);

/* A checkpoint, opened and verified. */
int inspect_open(const char *path, raytrain_checkpoint **ck, struct error *err);

/* -- printing -- */
/* text, with control characters escaped. */
void inspect_print(FILE *out, const char *text);
/* The same, quoted for a shell where needed. */
void inspect_print_word(FILE *out, const char *word);

#endif
