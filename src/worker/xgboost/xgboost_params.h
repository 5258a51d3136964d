/* xgboost_params.h - parameters of XGBoost: the user's, and raytrain's defaults. */
#ifndef RAYTRAIN_GBDT_XGBOOST_PARAMS_H
#define RAYTRAIN_GBDT_XGBOOST_PARAMS_H

#include "gbdt/booster.h"

/* Is the objective one of ranking? */
bool xgboost_params_rank(const struct gbdt_config *cfg);

/* XGBoost looks at its parameters when it needs them; here it does so at once. */
int xgboost_params_check(struct booster *b, struct error *err);

/* The user's parameters, and those that have another default here. */
int xgboost_params_set(struct booster *b, struct error *err);

/*
 * Before each round. XGBoost samples rows and columns by the number of the round, but
 * also by what it has drawn since the process began. With a new tree maker in each
 * round the latter is the same after a restart. Does nothing if nothing is sampled.
 */
int xgboost_params_renew(struct booster *b, struct error *err);

#endif
