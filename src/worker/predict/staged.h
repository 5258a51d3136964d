/*
 * staged.h - the columns of the current batch: copies of what the predictor has put,
 * and of what is kept of the input. Whatever a predict function does to its batch, what
 * is kept stays as it was.
 */
#ifndef RAYTRAIN_PREDICT_STAGED_H
#define RAYTRAIN_PREDICT_STAGED_H

#include "frame/frame.h"
#include "predict/predicted.h"

struct staged {
    struct staged_column *columns; /* one for each of the prediction */
    struct predicted_rows *rows;   /* the same, as a format takes them */
    size_t n;
};

/* For batches of at most `rows` rows. On failure staged_clear() frees what is there. */
int staged_init(struct staged *s, const struct predicted *p, uint64_t rows,
                struct error *err);
void staged_clear(struct staged *s); /* also one of zeros */

/* A batch begins: no column is there. */
void staged_begin(struct staged *s);
/* Copy the rows of column i, of numbers. */
void staged_put(struct staged *s, const struct predicted *p, size_t i, const void *data,
                uint64_t rows);
/* Copy the rows of column i from a column of the same kind. */
int staged_keep(struct staged *s, const struct predicted *p, size_t i,
                const struct frame_column *from, uint64_t rows, struct error *err);
/* The first column that is not there; -1: all are. */
long staged_missing(const struct staged *s);

#endif
