/*
 * early_stopping.h - is the training still making progress? By one metric, the last one
 * of the last dataset unless the configuration names another (XGBoost's rule).
 *
 * Its memory is in every checkpoint, so that a run that is interrupted stops in the
 * same round as one that is not.
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
 * The scores of a round, from 0 on. *stop: there was no progress for too long. A NaN is
 * never better. RAYTRAIN_EINVAL: the metric is not there, or all are of the training
 * set.
 */
int early_stopping_look(struct early_stopping *e, const struct gbdt_config *cfg,
                        const struct gbdt_scores *scores, int64_t round, bool *stop,
                        struct error *err);

#endif
