/* scaling.h - what the scalers share: (value - shift) / scale for each element. */
#ifndef RAYTRAIN_PREPROCESS_SCALING_H
#define RAYTRAIN_PREPROCESS_SCALING_H

#include "preprocess/preprocessor.h"
#include "preprocess/reals.h"

/* Adds an item to what p has learned: a number for each element of the column's
 * rows. */
struct fitted_item *scaling_item(struct preprocessor *p, const struct frame_column *c,
                                 const char *name, struct error *err);
/* The numbers of such an item, after a check that the column consists of numbers. */
int scaling_find(const struct column_plan *plan, const struct frame_column *in,
                 const char *name, const double **values, struct error *err);
/*
 * For the slots `plan` and `map` of a scaler. Each element is divided by scale - from,
 * or by 1 if that is 0. NULL for shift or from means zeros.
 */
int scaling_plan(struct column_plan *plan, const struct frame_column *in,
                 const double *shift, const double *scale, const double *from,
                 struct error *err);
int scaling_map(const struct column_plan *plan, const struct frame_column *in,
                uint64_t rows, struct frame_column *out, struct error *err);

/* Gives the result the type of reals_result(), in place if that is the input's type. */
void scaling_type(struct column_plan *plan, const struct frame_column *in);

#endif
