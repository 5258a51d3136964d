/*
 * feature_rows.h - turns rows of a dataset into those that a model of trees takes: the
 * features that it knows, in its order, for any order and types of the columns.
 *
 * A feature is a column of numbers, or an element of one of vectors: "x_0" is the first
 * element of the column "x". Rows are dense, unless one of the columns is sparse.
 */
#ifndef RAYTRAIN_GBDT_FEATURE_ROWS_H
#define RAYTRAIN_GBDT_FEATURE_ROWS_H

#include "data/dataset.h"
#include "frame/frame.h"
#include "gbdt/gbdt_rows.h"

/* The features that a model takes. */
struct feature_list {
    const char *const *names; /* n of them; NULL: they have none */
    uint64_t n;               /* 0: unknown */
    /* A column that is not a feature, if there are no names; or NULL. */
    const char *label;
    /* For messages that say where a value is; NULL: they do not. */
    const raytrain_dataset *ds;
    const struct dataset_config *config;
};

struct feature_rows;

/*
 * Finds the features among the columns of a dataset (dataset_schema()). Other columns
 * are not used; elements of a vector that are not features are an error. Without names,
 * the features are the elements of the only column of vectors; if there is none, or
 * more than one, all columns of numbers in their order. RAYTRAIN_EINVAL,
 * RAYTRAIN_ETYPE.
 */
int feature_rows_create(const struct frame *schema, const struct feature_list *list,
                        raytrain_dtype dtype, struct feature_rows **out,
                        struct error *err);
/* The number of features. */
uint64_t feature_rows_features(const struct feature_rows *f);
/* Tells for each column of the dataset whether it is unused. */
void feature_rows_unused(const struct feature_rows *f, const struct frame *schema,
                         bool *unused);
/* Fills *rows, which is empty, with a batch of those columns in this dtype. On failure
 * call gbdt_rows_clear(). RAYTRAIN_EINVAL: a row has an element that is not a feature;
 * feature_rows_fault() is the number of that row in the batch. */
int feature_rows_fill(struct feature_rows *f, const struct frame *batch,
                      struct gbdt_rows *rows, struct error *err);
/* -1: no row was refused. */
int64_t feature_rows_fault(const struct feature_rows *f);
void feature_rows_destroy(struct feature_rows *f); /* NULL is fine */

#endif
