/*
 * lightgbm_params.h - the parameters of LightGBM, as the text "key=value key=value"
 * that its C interface takes: the user's, and those that raytrain sets.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_PARAMS_H
#define RAYTRAIN_GBDT_LIGHTGBM_PARAMS_H

#include <stdbool.h>

#include "gbdt/booster.h"

/* The caller frees the text. Warns which values of the user are not used, and why. */
char *lightgbm_params_make(const struct booster_env *env, struct error *err);

/* True if the user has set one of these parameters to one of these values; both lists
 * end with NULL. */
bool lightgbm_params_has(const struct booster_env *env, const char *const names[],
                         const char *const values[]);

/* True if the objective is for ranking. */
bool lightgbm_params_rank(const struct gbdt_config *cfg);

#endif
