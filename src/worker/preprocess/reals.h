/*
 * reals.h - converts the elements of a column of numbers: from any type to double, and
 * from double to float32, float64 and integers.
 */
#ifndef RAYTRAIN_PREPROCESS_REALS_H
#define RAYTRAIN_PREPROCESS_REALS_H

#include "frame/frame.h"

/* Elements that are converted at once: they fit into the first-level cache. */
#define REALS_BLOCK 1024

/* The number of elements of a row: the product of its shape. */
size_t reals_width(const struct frame_column *c);
/* True for float32, float64, float16 and bfloat16, which can have missing values. */
bool reals_is_float(raytrain_dtype dtype);
/* The type of results: float32 for inputs of at most 32 bits of floating point, float64
 * for all others. */
raytrain_dtype reals_result(raytrain_dtype dtype);

/* Loads n <= REALS_BLOCK elements (not rows) from `first` on. */
void reals_load(const struct frame_column *c, size_t first, size_t n, double *to);
/* The column is float32, float64, int32 or int64; in integers, NaN becomes -1. */
void reals_store(struct frame_column *c, size_t first, size_t n, const double *from);

/* The key of a number as a category: an integer itself, or the bits of a double. */
uint64_t reals_key(double x);
void reals_keys(const struct frame_column *c, size_t first, size_t n, bool as_reals,
                uint64_t *keys, bool *missing);

/* RAYTRAIN_ETYPE unless it is a column of numbers: "standard_scaler: column ...". */
int reals_check(const char *what, const struct frame_column *c, struct error *err);

#endif
