/*
 * staged.h - the columns of the current batch: copies of what the predictor has put,
 * and of the columns of the input that are kept. These do not change if a predict
 * function changes its batch.
 */
#ifndef RAYTRAIN_PREDICT_STAGED_H
#define RAYTRAIN_PREDICT_STAGED_H

#include "frame/frame.h"
#include "predict/predicted.h"

struct staged {
    struct staged_column *columns; /* one for each column of the prediction */
    struct predicted_rows *rows;   /* their rows, as a format takes them */
    size_t n;
};

/* For batches of at most `rows` rows. Call staged_clear() also on failure. */
int staged_init(struct staged *s, const struct predicted *p, uint64_t rows,
                struct error *err);
void staged_clear(struct staged *s); /* zeroed is fine */

/* Begins a batch, without columns. */
void staged_begin(struct staged *s);
/* Copies the rows of column i, which has numbers. */
void staged_put(struct staged *s, const struct predicted *p, size_t i, const void *data,
                uint64_t rows);
/* Copies the rows of column i from a column of the same kind. */
int staged_keep(struct staged *s, const struct predicted *p, size_t i,
                const struct frame_column *from, uint64_t rows, struct error *err);
/* The first column that was not copied; -1: all were. */
long staged_missing(const struct staged *s);

#endif
