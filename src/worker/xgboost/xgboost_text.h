/*
 * xgboost_text.h - parses XGBoost's messages, and its line of metrics for a round.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_TEXT_H
#define RAYTRAIN_GBDT_XGBOOST_TEXT_H

#include "gbdt/booster.h"

/*
 * Makes one printable line of a message, without the time, the place in XGBoost's
 * source and the stack, which do not help its reader. Returns out.
 */
char *xgboost_text_clean(const char *text, char *out, size_t room);

/* True if this line of the log is a warning. */
bool xgboost_text_is_warning(const char *text);

/*
 * "[3]\ttrain-logloss:0.5\tvalid-logloss:0.6" of datasets names[0..n), in this order.
 * RAYTRAIN_EFAILED: it is something else.
 */
int xgboost_text_scores(const char *line, const char *const *names, size_t n,
                        struct gbdt_scores *out, struct error *err);

/* `metric` has no dataset: "auc", or "ndcg@5-". */
bool xgboost_metric_more_is_better(const char *metric);

#endif
