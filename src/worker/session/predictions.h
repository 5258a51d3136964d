/*
 * predictions.h - begins and ends a prediction in a session.
 */
#ifndef RAYTRAIN_SESSION_PREDICTIONS_H
#define RAYTRAIN_SESSION_PREDICTIONS_H

#include "session/session.h"

/* predict_calls.c: COLLECTIVE, before and after a predict function. */
int session_predict_begin(raytrain_context *ctx, raytrain_predictor **p,
                          struct error *err);
int session_predict_end(raytrain_context *ctx, struct error *err);
/* COLLECTIVE, before the first batch, unless ranks predict independently: checks that
 * all ranks ask for a batch. */
int session_predict_first(raytrain_context *ctx, const raytrain_predictor *p,
                          struct error *err);

/* serve_calls.c: as session_predict_begin(), for a worker of a service. `like` is a
 * dataset with the columns of its rows, or NULL. */
int session_serve_begin(raytrain_context *ctx, const struct dataset_config *like,
                        raytrain_predictor **p, struct error *err);

#endif
