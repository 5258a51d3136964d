/* xgboost_params.h - parameters of XGBoost: the user's, and raytrain's defaults. */
#ifndef RAYTRAIN_GBDT_XGBOOST_PARAMS_H
#define RAYTRAIN_GBDT_XGBOOST_PARAMS_H

#include "gbdt/booster.h"

/* True if the objective is for ranking. */
bool xgboost_params_rank(const struct gbdt_config *cfg);

/* Makes XGBoost check its parameters now, rather than when it needs them. */
int xgboost_params_check(struct booster *b, struct error *err);

/* Sets the user's parameters, and those that have another default here. */
int xgboost_params_set(struct booster *b, struct error *err);

/*
 * Called before each round. XGBoost's samples of rows and columns depend on the number
 * of the round, and on what it has drawn since the process began. A new tree maker in
 * each round makes the latter the same after a restart. Does nothing without sampling.
 */
int xgboost_params_renew(struct booster *b, struct error *err);

#endif
