/*
 * xgboost_auc.h - the exact area under the ROC curve of the rows of several members.
 *
 * XGBoost computes the mean of the members' areas, weighted by their sizes, which
 * depends on how the rows are divided.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_AUC_H
#define RAYTRAIN_GBDT_XGBOOST_AUC_H

#include "xgboost/xgboost_booster.h"

/* COLLECTIVE, after an evaluation with several members: replaces the scores "...-auc"
 * of datasets with two classes. For ranking and for more classes, XGBoost's stay. */
int xgboost_auc_replace(struct booster *b, struct gbdt_scores *scores,
                        struct error *err);

#endif
