/*
 * early_stopping.h - decides whether the training still makes progress, by one metric:
 * the last one of the last dataset (XGBoost's rule) unless the configuration names
 * another.
 *
 * Its state is in every checkpoint, so that an interrupted run stops in the same round
 * as one without interruption.
 */
#ifndef RAYTRAIN_GBDT_EARLY_STOPPING_H
#define RAYTRAIN_GBDT_EARLY_STOPPING_H

#include "gbdt/booster.h"

struct early_stopping {
    int patience; /* rounds; 0: it is off, and best_round stays -1 */
    char metric[RAYTRAIN_NAME_MAX + 1]; /* "": not chosen yet */
    int64_t best_round;                 /* from 0 on; -1: none */
    double best_score;
};

void early_stopping_init(struct early_stopping *e, const struct gbdt_config *cfg);
/*
 * Looks at the scores of a round; rounds count from 0. *stop: the metric has not
 * improved for `patience` rounds. A NaN is never better. RAYTRAIN_EINVAL: no score is
 * that metric, or there is only the training set.
 */
int early_stopping_look(struct early_stopping *e, const struct gbdt_config *cfg,
                        const struct gbdt_scores *scores, int64_t round, bool *stop,
                        struct error *err);

#endif
