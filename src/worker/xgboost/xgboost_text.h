/*
 * xgboost_text.h - what XGBoost says, as text: messages, and the line of metrics of a
 * round.
 */
#ifndef RAYTRAIN_GBDT_XGBOOST_TEXT_H
#define RAYTRAIN_GBDT_XGBOOST_TEXT_H

#include "gbdt/booster.h"

/*
 * The sense of a message, on one line: without the time, the place in XGBoost's source,
 * and the stack, which say nothing to its reader. Printable. Returns out.
 */
char *xgboost_text_clean(const char *text, char *out, size_t room);

/* Is this line of the log a warning? */
bool xgboost_text_is_warning(const char *text);

/*
 * "[3]\ttrain-logloss:0.5\tvalid-logloss:0.6" of datasets names[0..n), in this order.
 * RAYTRAIN_EFAILED: it is something else.
 */
int xgboost_text_scores(const char *line, const char *const *names, size_t n,
                        struct gbdt_scores *out, struct error *err);

/* `metric` is one without its dataset, "auc" or "ndcg@5-". */
bool xgboost_metric_more_is_better(const char *metric);

#endif
