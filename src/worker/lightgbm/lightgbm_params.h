/*
 * lightgbm_params.h - the parameters of LightGBM, as the text "key=value key=value"
 * that its C interface takes: the user's, and those that are ours to set.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_PARAMS_H
#define RAYTRAIN_GBDT_LIGHTGBM_PARAMS_H

#include <stdbool.h>

#include "gbdt/booster.h"

/* To free(). Says which values of the user's are not used, and why. */
char *lightgbm_params_make(const struct booster_env *env, struct error *err);

/* Is the user's parameter, by one of these names (up to NULL), set to one of these
 * values? */
bool lightgbm_params_has(const struct booster_env *env, const char *const names[],
                         const char *const values[]);

/* Is the objective one of ranking? */
bool lightgbm_params_rank(const struct gbdt_config *cfg);

#endif
