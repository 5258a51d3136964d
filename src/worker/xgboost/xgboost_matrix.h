/* xgboost_matrix.h - rows as XGBoost's matrices ("DMatrix"). */
#ifndef RAYTRAIN_GBDT_XGBOOST_MATRIX_H
#define RAYTRAIN_GBDT_XGBOOST_MATRIX_H

#include <jansson.h>

#include "gbdt/gbdt_rows.h"
#include "xgboost/xgboost_library.h"

/* How matrices are made: dmatrix_params of the configuration. Borrows from it. */
struct xgboost_matrix_options {
    double missing; /* a number that means missing, in addition to NaN */
    int threads;
    const json_t *types; /* a list of texts; NULL: by features->categorical */
};

/* params may be NULL. RAYTRAIN_EINVAL. */
int xgboost_matrix_options(const json_t *params, int threads,
                           struct xgboost_matrix_options *out, struct error *err);

/* COLLECTIVE if members have joined. The matrix has `width` features at least: sparse
 * rows may not have the last ones. */
int xgboost_matrix_make(const struct xgboost_library *x,
                        const struct xgboost_matrix_options *options,
                        const struct gbdt_rows *rows, uint64_t width, void **out,
                        struct error *err);

/* Sets labels, weights, queries and margins. */
int xgboost_matrix_describe_rows(const struct xgboost_library *x, void *matrix,
                                 const struct gbdt_rows *rows, struct error *err);

/* Sets names and types of features of a matrix, or (model) of the model. */
int xgboost_matrix_describe_features(const struct xgboost_library *x, void *handle,
                                     bool model,
                                     const struct xgboost_matrix_options *options,
                                     const struct gbdt_features *features,
                                     struct error *err);

#endif
