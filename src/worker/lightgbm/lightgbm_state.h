/*
 * lightgbm_state.h - what the files of the booster "lightgbm" share: lightgbm.c trains,
 * lightgbm_data.c makes datasets, lightgbm_model.c saves and loads models, and
 * predicts.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_STATE_H
#define RAYTRAIN_GBDT_LIGHTGBM_STATE_H

#include "gbdt/booster.h"
#include "lightgbm/lightgbm_library.h"
#include "lightgbm/lightgbm_metrics.h"

struct lightgbm_state {
    const struct lightgbm *l;
    char *params;         /* of the library; NULL to predict */
    struct comm *comm;    /* of several members; NULL: one */
    lightgbm_booster old; /* the model to continue; NULL: a new one */
    lightgbm_booster booster;
    struct lightgbm_sets sets; /* the training set first */
    /* To predict: the model's text and its objective, "binary sigmoid:1". */
    char *text, *objective;
    size_t text_size;
};

/* ---- lightgbm_data.c ---- */

/* COLLECTIVE. The training set comes first; the others get its bins. */
int lightgbm_data_add(struct booster *b, struct gbdt_rows *rows, struct error *err);

/* ---- lightgbm_model.c ---- */

/* Makes a model of the library from its text. */
int lightgbm_model_parse(const struct lightgbm *l, const void *bytes, size_t n,
                         lightgbm_booster *out, struct error *err);
/* Rounds and trees of a model. */
int lightgbm_model_rounds(const struct lightgbm *l, lightgbm_booster booster,
                          struct error *err);
/* How to predict: with `rounds` rounds from first_round on; -1: all. */
struct lightgbm_request {
    lightgbm_booster booster;
    int output, first_round, rounds, threads;
};
int lightgbm_rows_predict(const struct lightgbm *l, const struct lightgbm_request *r,
                          const struct gbdt_rows *rows, uint64_t first, uint64_t n,
                          double *out, struct error *err);

int lightgbm_save(struct booster *b, int rounds, int best_round, double best_score,
                  void **bytes, size_t *n, struct error *err);
int lightgbm_load(struct booster *b, const void *bytes, size_t n, struct error *err);
int lightgbm_shape(struct booster *b, enum gbdt_output output, uint64_t shape[2],
                   int *ndim, struct error *err);
int lightgbm_predict(struct booster *b, enum gbdt_output output,
                     const struct gbdt_rows *rows, void *values, struct error *err);
int lightgbm_convert(struct booster *b, const char *format, void **bytes, size_t *n,
                     struct error *err);

#endif
