/*
 * gbdt_predict.h - the predict function for models of trees.
 */
#ifndef RAYTRAIN_GBDT_GBDT_PREDICT_H
#define RAYTRAIN_GBDT_GBDT_PREDICT_H

#include "util/error.h"

/* A raytrain_predict_func: the model is that of the checkpoint, and the outputs are
 * those of predict.outputs. */
int gbdt_predict(raytrain_context *ctx, raytrain_predictor *p);

#endif
