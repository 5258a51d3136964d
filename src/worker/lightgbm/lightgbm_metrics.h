/*
 * lightgbm_metrics.h - LightGBM's metrics for a dataset whose rows are divided among
 * the members. The library computes those of each member's own rows; this file combines
 * them into those of all rows, as one process would compute them.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_METRICS_H
#define RAYTRAIN_GBDT_LIGHTGBM_METRICS_H

#include "gbdt/booster.h"
#include "lightgbm/lightgbm_library.h"

/* A dataset of the booster. */
struct lightgbm_set {
    char name[RAYTRAIN_NAME_MAX + 1];
    lightgbm_dataset data; /* NULL: this member has no rows of it */
    int number;            /* of the set among the booster's on this member */
    double rows, weight;   /* of this member's rows; without weights they are equal */
    double rough_weight;   /* weight, as the library's entropies have added it up */
    double query_weight;   /* the sum of the weights of its query groups */
};

struct lightgbm_sets {
    struct lightgbm_set *list;
    size_t n;
};

/* Sets the numbers of `set`, whose dataset has its label, weight and groups. */
int lightgbm_set_measure(const struct lightgbm *l, struct lightgbm_set *set,
                         struct error *err);

/* COLLECTIVE over the members, if there are several. All metrics of all sets. */
int lightgbm_metrics_get(const struct lightgbm *l, lightgbm_booster booster,
                         const struct lightgbm_sets *sets,
                         const struct booster_env *env, struct gbdt_scores *scores,
                         struct error *err);

#endif
