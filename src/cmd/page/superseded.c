/* superseded.c - collect the replaced reports while they are read, and reduce each
 * stretch of them to a few points. */
#include "config.h"

#include "page/superseded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRETCH_POINTS 100 /* points of a curve */

static void stretch_clear(struct superseded_stretch *stretch)
{
    for (size_t c = 0; c < stretch->n_columns; c++)
        free(stretch->of_column[c].points);
    free(stretch->of_column);
    *stretch = (struct superseded_stretch){0};
}

static int stretch_fill(struct superseded_stretch *stretch,
                        const struct metrics_table *t, size_t from)
{
    stretch->of_column = calloc(t->n_columns + 1, sizeof *stretch->of_column);
    if (!stretch->of_column)
        return -1;
    stretch->n_columns = t->n_columns;
    for (size_t c = 0; c < t->n_columns; c++) {
        const struct series series = {.table = t, .column = &t->columns[c]};

        if (series_has_numbers(series.column) &&
            series_thin_from(&series, from, STRETCH_POINTS, &stretch->of_column[c],
                             NULL) < 0)
            return -1;
    }
    return 0;
}

void superseded_take(void *arg, const struct metrics_table *t, size_t from)
{
    struct superseded *s = arg;

    if (s->n == SUPERSEDED_STRETCHES) {
        stretch_clear(&s->list[0]);
        memmove(&s->list[0], &s->list[1], (s->n - 1) * sizeof s->list[0]);
        s->list[--s->n] = (struct superseded_stretch){0};
    }
    if (stretch_fill(&s->list[s->n++], t, from) < 0)
        s->no_memory = true;
}

static const struct point_list *points_of(const struct superseded *s, size_t stretch,
                                          size_t column)
{
    static const struct point_list none;

    return column < s->list[stretch].n_columns ? &s->list[stretch].of_column[column]
                                               : &none;
}

/* At most `room` points, at equal distances. */
static void points_append(const struct point_list *from, size_t most,
                          struct point_list *out)
{
    size_t n = from->n < most ? from->n : most;

    for (size_t i = 0; i < n; i++)
        out->points[out->n++] =
            from->points[n > 1 ? i * (from->n - 1) / (n - 1) : from->n - 1];
    if (n > 0) {
        out->points[out->n] = out->points[out->n - 1];
        out->points[out->n++].value = NAN;
    }
}

int superseded_points(const struct superseded *s, size_t column, size_t room,
                      struct point_list *out, struct error *err)
{
    size_t each = s->n > 0 && room / s->n > 2 ? room / s->n : 2;

    *out = (struct point_list){.points =
                                   calloc(s->n * (each + 1) + 1, sizeof *out->points)};
    if (!out->points)
        return error_no_memory(err);
    for (size_t i = 0; i < s->n; i++)
        points_append(points_of(s, i, column), each, out);
    return 0;
}

void superseded_clear(struct superseded *s)
{
    while (s->n > 0)
        stretch_clear(&s->list[--s->n]);
}
