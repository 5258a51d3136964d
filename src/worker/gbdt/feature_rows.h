/*
 * feature_rows.h - rows of a dataset as a model of trees takes them: the features that
 * it knows, in its order, whatever the order and the types of the columns.
 *
 * A feature is a column of numbers, or an element of one of vectors: "x_0" is the first
 * element of the column "x". Rows are dense, unless one of the columns is sparse.
 */
#ifndef RAYTRAIN_GBDT_FEATURE_ROWS_H
#define RAYTRAIN_GBDT_FEATURE_ROWS_H

#include "data/dataset.h"
#include "frame/frame.h"
#include "gbdt/gbdt_rows.h"

/* What a model takes. */
struct feature_list {
    const char *const *names; /* n of them; NULL: they have none */
    uint64_t n;               /* 0: not known */
    /* Without names: a column that is not a feature; or NULL. */
    const char *label;
    /* For messages that say where a value is; NULL: they do not. */
    const raytrain_dataset *ds;
    const struct dataset_config *config;
};

struct feature_rows;

/*
 * Find the features among the columns of a dataset (dataset_schema()). Further columns
 * are not used; elements of a vector that are not features are an error. Without names
 * they are the only column of vectors; or all columns of numbers, in their order, if
 * there is no such column or several. RAYTRAIN_EINVAL, RAYTRAIN_ETYPE.
 */
int feature_rows_create(const struct frame *schema, const struct feature_list *list,
                        raytrain_dtype dtype, struct feature_rows **out,
                        struct error *err);
/* How many features there are. */
uint64_t feature_rows_features(const struct feature_rows *f);
/* Which columns of the dataset are not features: one element for each. */
void feature_rows_unused(const struct feature_rows *f, const struct frame *schema,
                         bool *unused);
/* Fill *rows, which had none, with a batch of those columns in this dtype. On failure
 * gbdt_rows_clear() frees what is there; RAYTRAIN_EINVAL: a row has an element that is
 * not a feature, and feature_rows_fault() is that row of the batch. */
int feature_rows_fill(struct feature_rows *f, const struct frame *batch,
                      struct gbdt_rows *rows, struct error *err);
/* -1: there is none. */
int64_t feature_rows_fault(const struct feature_rows *f);
void feature_rows_destroy(struct feature_rows *f); /* NULL is fine */

#endif
