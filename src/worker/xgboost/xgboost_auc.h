/*
 * xgboost_auc.h - the area under the ROC curve of several members, exactly.
 *
 * XGBoost's own is the mean of the members' areas, weighted by their sizes: it depends
 * on how the rows are divided.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_AUC_H
#define RAYTRAIN_GBDT_XGBOOST_AUC_H

#include "xgboost/xgboost_booster.h"

/* COLLECTIVE, after an evaluation of several members: replace the scores "...-auc" of
 * datasets of two classes. Those of rankings and of more classes stay XGBoost's. */
int xgboost_auc_replace(struct booster *b, struct gbdt_scores *scores,
                        struct error *err);

#endif
