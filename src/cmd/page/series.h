/*
 * series.h - the values of a metric over iterations, for a curve: all of them in one
 * pass, or a few points that look the same.
 */
#ifndef RAYTRAIN_PAGE_SERIES_H
#define RAYTRAIN_PAGE_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "run/metrics_table.h"
#include "util/error.h"

/* A metric, or a member of report_fields whose values are seconds. */
struct series {
    const struct metrics_table *table;
    const struct metric_column *column; /* NULL: it is a field */
    size_t field;
    bool sparse; /* leave out reports without a number, instead of gaps */
};

struct point {
    double iteration, value; /* NaN: no number */
    double low, high;        /* lowest and highest over the ranks */
};

struct point series_point(const struct series *s, size_t i);
/* Does the metric have numbers? */
bool series_has_numbers(const struct metric_column *c);
/* The index of a key in report_fields. */
size_t series_field(const char *key);

struct series_summary {
    size_t n, numbers; /* reports, and those with a number */
    struct point first, last, lowest, highest;
    double sum, low, high; /* over the ranks, too */
    bool ranks_differ;
};

void series_summarize(const struct series *s, struct series_summary *sum);

struct point_list {
    struct point *points;
    size_t n;
};

/* At most `room` (and at least four) points of the series, each of them a report, among
 * them the lowest and the highest of each stretch, so that no spike is lost. To
 * free(). */
int series_thin(const struct series *s, size_t room, struct point_list *out,
                struct error *err);
/* The same for the reports from `from` on. */
int series_thin_from(const struct series *s, size_t from, size_t room,
                     struct point_list *out, struct error *err);

/* Means over stretches of equal numbers of reports, at most `room` of them: the trend
 * of values that change from report to report. To free(). */
int series_means(const struct series *s, size_t room, struct point_list *out,
                 struct error *err);

#endif
