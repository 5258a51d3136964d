/*
 * xgboost_booster.h - what a booster of XGBoost has, how it comes to be, and how it
 * says that a call of the library has failed.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_BOOSTER_H
#define RAYTRAIN_GBDT_XGBOOST_BOOSTER_H

#include "gbdt/booster.h"
#include "xgboost/xgboost_group.h"
#include "xgboost/xgboost_library.h"
#include "xgboost/xgboost_matrix.h"

/* The shape of an output, found by predicting a row whose values are all missing. */
struct xgboost_shape {
    bool known;
    uint64_t shape[2];
    int ndim;
    uint64_t n; /* numbers in a row */
};

struct xgboost_impl {
    const struct xgboost_library *x;
    struct xgboost_group *group; /* NULL: one member */
    struct xgboost_matrix_options options;
    void *model; /* NULL before begin or load */
    /* Datasets, the training set first. */
    void **matrices;
    char **names;
    size_t n;
    bool updated;        /* in this attempt */
    const char *renewal; /* see xgboost_params_renew() */
    /* Set by load. */
    uint64_t features;
    int end; /* predictions are by the first rounds up to this one; 0: by all */
    char objective[64];
    struct xgboost_shape shapes[GBDT_OUTPUTS];
};

/* impl, without anything in it; what the library prints goes to env->say from here on,
 * if this is the first member. */
int xgboost_impl_make(struct booster *b, struct error *err);
/* From now on, what the library prints belongs to this booster; NULL: to none. */
void xgboost_speaker_set(struct booster *b);
/* The same, for a booster that ends: to none if it is this one. */
void xgboost_speaker_leave(const struct booster *b);

/* A call has failed: the error, and no member waits for this one any longer. Returns
 * -1. */
int xgboost_impl_fail(struct booster *b, const char *what, struct error *err);

#endif
