/*
 * xgboost_predict.h - models of XGBoost in one process: the slots of booster.h, and the
 * bytes of a model.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_PREDICT_H
#define RAYTRAIN_GBDT_XGBOOST_PREDICT_H

#include "gbdt/booster.h"
#include "xgboost/xgboost_library.h"

int xgboost_load(struct booster *b, const void *bytes, size_t n, struct error *err);
int xgboost_shape(struct booster *b, enum gbdt_output output, uint64_t shape[2],
                  int *ndim, struct error *err);
int xgboost_predict(struct booster *b, enum gbdt_output output,
                    const struct gbdt_rows *rows, void *values, struct error *err);
int xgboost_convert(struct booster *b, const char *format, void **bytes, size_t *n,
                    struct error *err);

/* The model in a format; the caller frees the bytes. */
int xgboost_bytes(const struct xgboost_library *x, void *model, const char *format,
                  void **bytes, size_t *n, struct error *err);

#endif
