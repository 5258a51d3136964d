/*
 * map_batch.h - raytrain_batch of raytrain.h: a batch of rows for the function of a
 * batch_mapper. The function reads columns of a frame, and makes columns, which are put
 * into the frame after it has returned.
 *
 * The first call declares the columns: its batch has no rows, and every later call must
 * make the same ones.
 */
#ifndef RAYTRAIN_PREPROCESS_MAP_BATCH_H
#define RAYTRAIN_PREPROCESS_MAP_BATCH_H

#include <stdbool.h>

#include "frame/frame.h"

/* A column that the function makes or removes. */
struct map_output {
    struct frame_column column; /* with memory only until map_batch_put() */
    struct dictionary *words;   /* owned; NULL: it is not one of words */
    bool removes, done;         /* done in this call */
};

struct raytrain_batch {
    struct frame *frame;
    bool declares;
    struct map_output *outputs;
    size_t n;
    struct error error; /* of the last call that failed; code 0: none failed */
};

/* Before a call of the function: gives the batch the rows of `frame`. */
void map_batch_begin(raytrain_batch *batch, struct frame *frame, bool declares);
/* After a call that succeeded: checks that all declared columns were made, and that
 * their codes are valid. */
int map_batch_check(raytrain_batch *batch, struct error *err);
/* Moves the columns into the frame, and removes those that the function removes. */
int map_batch_put(raytrain_batch *batch, struct error *err);
/* The same for a frame without rows, in which columns have no memory. */
int map_batch_put_schema(const raytrain_batch *batch, struct frame *schema,
                         struct error *err);
/* Frees the memory of columns that were not put into the frame. */
void map_batch_end(raytrain_batch *batch);
void map_batch_clear(raytrain_batch *batch); /* zeroed is fine */

/* ---- The calls of raytrain.h. All keep the error in batch->error. ---- */

int map_batch_column(raytrain_batch *batch, const char *name, raytrain_tensor *tensor);
const struct dictionary *map_batch_words(raytrain_batch *batch, const char *name);
int map_batch_ragged(raytrain_batch *batch, const char *name, raytrain_ragged *out);
int map_batch_output(raytrain_batch *batch, const char *name,
                     const raytrain_tensor *row, void **data);
int map_batch_output_words(raytrain_batch *batch, const char *name,
                           const char *const words[], size_t n, int32_t **codes);
int map_batch_put_ragged(raytrain_batch *batch, const char *name,
                         const raytrain_ragged *rows);
int map_batch_remove(raytrain_batch *batch, const char *name);

#endif
