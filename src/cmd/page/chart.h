/*
 * chart.h - axes with their labels around an SVG, the lines in it, and the numbers
 * behind them, which page.js reads.
 */
#ifndef RAYTRAIN_PAGE_CHART_H
#define RAYTRAIN_PAGE_CHART_H

#include <stdio.h>

#include "page/axis.h"
#include "page/series.h"

#define CHART_WIDTH  1000 /* of the SVG's coordinates, */
#define CHART_HEIGHT 400  /* which are stretched to what there is */
#define CHART_MEANS                                                                    \
    150 /* points of the mean, of a line with more points than its room */

struct chart {
    struct axis x, y;
};

/* The SVG's label, which is text, and its paths come between these. */
void chart_begin(FILE *out, const struct chart *f);
void chart_end(FILE *out, const struct chart *f);

/* ---- Places ---- */

double chart_x(const struct chart *f, double iteration);
double chart_y(const struct chart *f, double value);
/* A command of a path: 'M' or 'L'. */
void chart_spot(FILE *out, char command, double x, double y);
/* Is there a point i, with a value? */
bool chart_is_number(const struct point_list *l, size_t i);

/* ---- Paths ---- */

void chart_grid(FILE *out, const struct chart *f);
/* A line through the points; a point without a value interrupts it. */
void chart_line(FILE *out, const struct chart *f, const char *class,
                const struct point_list *l);
/* Points that no line shows, and all of them if there are at most `most`. */
void chart_dots(FILE *out, const struct chart *f, const char *class,
                const struct point_list *l, size_t most);

/* ---- Numbers ---- */

/* A member of a JSON object: of each point the iteration (0), the value (1), the lowest
 * (2) or the highest (3) value over the ranks. */
void chart_column(FILE *out, const char *key, const struct point_list *l,
                  size_t member);

#endif
