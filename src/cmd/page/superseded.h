/*
 * superseded.h - the values of reports that a later attempt has replaced: a few points
 * of each stretch, taken while the table of reports is loaded, since the table drops
 * them.
 */
#ifndef RAYTRAIN_PAGE_SUPERSEDED_H
#define RAYTRAIN_PAGE_SUPERSEDED_H

#include <stdbool.h>

#include "page/series.h"

/* The maximum number of stretches; the latest ones are kept. */
#define SUPERSEDED_STRETCHES 20

struct superseded {
    struct superseded_stretch {
        struct point_list *of_column; /* empty for columns without a curve */
        size_t n_columns;
    } list[SUPERSEDED_STRETCHES];
    size_t n;
    bool no_memory;
};

/* on_supersede of the table; arg is a struct superseded. */
void superseded_take(void *arg, const struct metrics_table *t, size_t from);
/* The points of a column, stretch by stretch, each followed by a point without a value;
 * about `room` in all, and at least two for each stretch. To free(). */
int superseded_points(const struct superseded *s, size_t column, size_t room,
                      struct point_list *out, struct error *err);
void superseded_clear(struct superseded *s);

#endif
