/* report_number.h - a number in a report that has been parsed. */
#ifndef RAYTRAIN_UTIL_REPORT_NUMBER_H
#define RAYTRAIN_UTIL_REPORT_NUMBER_H

#include <jansson.h>
#include <stdbool.h>

/* A key of a report whose metrics have the values of rank 0, not means: what rank 0 has
 * reported, with its types and its nesting. */
#define METRICS_REPORTED "reported"
/* JSON has no infinities: the value of a metric is null, and by_rank has the mean, and
 * those of the numbers of ranks that are infinite, as this word, or a minus and it. */
#define METRIC_INFINITY "Infinity"

/* Has the report a number of this name, which may be NaN? */
bool metric_is_number(const json_t *report, const char *name);
/* The number of this name; NaN if there is none. */
double metric_number(const json_t *report, const char *name);
/* A member of by_rank: a number or the word; otherwise NaN. */
double metric_value(const json_t *value);

#endif
