/*
 * xgboost_gaps.h - missing values on some members only.
 *
 * XGBoost 1.7 up to 1.7.5, with tree_method = hist, takes a shortcut on a member whose
 * rows lack no value: it leaves out a collective that the others take part in. If there
 * are both kinds of members, they disagree about the trees, and wait for each other
 * forever. So such a member gets one more row, whose values are all missing, with
 * weight 0: it counts neither in a tree nor in a metric.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_GAPS_H
#define RAYTRAIN_GBDT_XGBOOST_GAPS_H

#include "comm/comm.h"
#include "xgboost/xgboost_matrix.h"

/* COLLECTIVE, of the training set. *added: the set has that row, until gaps_remove. */
int xgboost_gaps_add(const struct xgboost_library *x, struct comm *members,
                     const struct xgboost_matrix_options *options,
                     struct gbdt_rows *rows, uint64_t width, bool *added,
                     struct error *err);
void xgboost_gaps_remove(struct gbdt_rows *rows);

#endif
