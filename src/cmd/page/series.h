/*
 * series.h - the values of a metric over iterations, as a curve needs them: all of them
 * in one pass, or few points that look the same.
 */
#ifndef RAYTRAIN_PAGE_SERIES_H
#define RAYTRAIN_PAGE_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "run/metrics_table.h"
#include "util/error.h"

/* A metric, or else one of report_fields that are seconds. */
struct series {
    const struct metrics_table *table;
    const struct metric_column *column; /* NULL: a field */
    size_t field;
    bool sparse; /* reports without a number are left out, not gaps */
};

struct point {
    double iteration, value; /* NaN: no number */
    double low, high;        /* over the ranks */
};

struct point series_point(const struct series *s, size_t i);
/* Is it a metric of numbers? */
bool series_has_numbers(const struct metric_column *c);
/* The place of a key in report_fields. */
size_t series_field(const char *key);

struct series_summary {
    size_t n, numbers; /* reports, those with a number */
    struct point first, last, lowest, highest;
    double sum, low, high; /* over the ranks, too */
    bool ranks_differ;
};

void series_summarize(const struct series *s, struct series_summary *sum);

struct point_list {
    struct point *points;
    size_t n;
};

/* At most `room` (and at least four) points of the series, each of them a report; among
 * them are the least and the largest of each stretch, so that no spike is lost. To
 * free(). */
int series_thin(const struct series *s, size_t room, struct point_list *out,
                struct error *err);
/* The same of the reports from `from` on. */
int series_thin_from(const struct series *s, size_t from, size_t room,
                     struct point_list *out, struct error *err);

/* Means over stretches of equal numbers of reports, at most `room` of them: what the course
 * is if its values change from report to report. To free(). */
int series_means(const struct series *s, size_t room, struct point_list *out,
                 struct error *err);

#endif
