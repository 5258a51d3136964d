/*
 * xgboost_booster.h - the state of a booster of XGBoost: making it, and reporting that
 * a call of the library has failed.
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
    int end; /* predictions use the rounds before this one; 0: all */
    char objective[64];
    struct xgboost_shape shapes[GBDT_OUTPUTS];
};

/* Makes an empty impl. From here on env->say gets what the library prints, on the first
 * member only. */
int xgboost_impl_make(struct booster *b, struct error *err);
/* Passes what the library prints on this thread to this booster; NULL: to none. */
void xgboost_speaker_set(struct booster *b);
/* For a booster that ends: passes it to none if that was this booster. */
void xgboost_speaker_leave(const struct booster *b);

/* After a call that failed: sets the error, and lets no member wait for this one.
 * Returns -1. */
int xgboost_impl_fail(struct booster *b, const char *what, struct error *err);

#endif
