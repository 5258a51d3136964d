/*
 * xgboost_gaps.h - a workaround for missing values that only some members have.
 *
 * XGBoost 1.7 to 1.7.5, with tree_method = hist, takes a shortcut on a member without
 * missing values: it does not take part in a collective of the others. If there are
 * both kinds of members, they make different trees, and wait for each other forever. So
 * such a member gets one more row, with weight 0, whose values are all missing. It
 * affects neither trees nor metrics.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_GAPS_H
#define RAYTRAIN_GBDT_XGBOOST_GAPS_H

#include "comm/comm.h"
#include "xgboost/xgboost_matrix.h"

/* COLLECTIVE, for the training set. *added: the set has that row until
 * xgboost_gaps_remove(). */
int xgboost_gaps_add(const struct xgboost_library *x, struct comm *members,
                     const struct xgboost_matrix_options *options,
                     struct gbdt_rows *rows, uint64_t width, bool *added,
                     struct error *err);
void xgboost_gaps_remove(struct gbdt_rows *rows);

#endif
