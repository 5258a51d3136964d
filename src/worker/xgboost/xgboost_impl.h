/* xgboost_impl.h - the booster of XGBoost, for the files that implement it. */
#ifndef RAYTRAIN_GBDT_XGBOOST_IMPL_H
#define RAYTRAIN_GBDT_XGBOOST_IMPL_H

#include "gbdt/booster.h"
#include "xgboost/xgboost_group.h"
#include "xgboost/xgboost_library.h"
#include "xgboost/xgboost_matrix.h"

/* The shape of an output, found by a prediction of a row of which nothing is known. */
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
    /* Of load. */
    uint64_t features;
    int end; /* predictions are by the first rounds up to this one; 0: by all */
    char objective[64];
    struct xgboost_shape shapes[GBDT_OUTPUTS];
};

/* ---- xgboost.c ---- */

/* impl, without anything in it; what the library prints goes to env->say from here on,
 * if this is the first member. */
int xgboost_impl_make(struct booster *b, struct error *err);

/* A call has failed: the error, and no member waits for this one any longer. Returns
 * -1. */
int xgboost_impl_fail(struct booster *b, const char *what, struct error *err);

/* ---- xgboost_params.c ---- */

/* Is the objective one of ranking? */
bool xgboost_params_rank(const struct gbdt_config *cfg);

/* XGBoost looks at its parameters when it needs them; here it does so at once. */
int xgboost_params_check(struct booster *b, struct error *err);

/* The user's parameters, and those that have another default here. */
int xgboost_params_set(struct booster *b, struct error *err);

/*
 * Before each round. XGBoost samples rows and columns by the number of the round, but
 * also by what it has drawn since the process began. With a new tree maker in each round
 * the latter is the same after a restart. Does nothing if nothing is sampled.
 */
int xgboost_params_renew(struct booster *b, struct error *err);

/* ---- xgboost_predict.c: see booster.h ---- */

int xgboost_load(struct booster *b, const void *bytes, size_t n, struct error *err);
int xgboost_shape(struct booster *b, enum gbdt_output output, uint64_t shape[2],
                  int *ndim, struct error *err);
int xgboost_predict(struct booster *b, enum gbdt_output output,
                    const struct gbdt_shard *rows, void *values, struct error *err);
int xgboost_convert(struct booster *b, const char *format, void **bytes, size_t *n,
                    struct error *err);

/* A model as bytes of a format, to free(). */
int xgboost_bytes(const struct xgboost_library *x, void *model, const char *format,
                  void **bytes, size_t *n, struct error *err);

#endif
