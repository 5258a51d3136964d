/* report_number.h - a number in a report that has been parsed. */
#ifndef RAYTRAIN_UTIL_REPORT_NUMBER_H
#define RAYTRAIN_UTIL_REPORT_NUMBER_H

#include <jansson.h>
#include <stdbool.h>

/* The key of a report whose metrics have the values of rank 0, not means: the metrics
 * as rank 0 reported them, with their types and nesting. */
#define METRICS_REPORTED "reported"
/* JSON has no infinities. The value of such a metric is null, and by_rank has the mean,
 * and the numbers of ranks, that are infinite as this word, or as a minus and this
 * word. */
#define METRIC_INFINITY "Infinity"

/* Does the report have a number of this name, which may be NaN? */
bool metric_is_number(const json_t *report, const char *name);
/* The number of this name; NaN if there is none. */
double metric_number(const json_t *report, const char *name);
/* A member of by_rank: a number or the word; otherwise NaN. */
double metric_value(const json_t *value);

#endif
