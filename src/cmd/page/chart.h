/*
 * chart.h - axes with their labels around an SVG, the lines in it, and the numbers
 * behind them, which page.js reads.
 */
#ifndef RAYTRAIN_PAGE_CHART_H
#define RAYTRAIN_PAGE_CHART_H

#include <stdio.h>

#include "page/axis.h"
#include "page/series.h"

#define CHART_WIDTH  1000 /* the SVG's coordinates, */
#define CHART_HEIGHT 400  /* which are stretched to the space there is */
#define CHART_MEANS  150  /* points of the mean, for a line with more points than fit */

struct chart {
    struct axis x, y;
};

/* The caller writes the SVG's label, which is text, and its paths between these. */
void chart_begin(FILE *out, const struct chart *f);
void chart_end(FILE *out, const struct chart *f);

/* ---- Places ---- */

double chart_x(const struct chart *f, double iteration);
double chart_y(const struct chart *f, double value);
/* A path command: 'M' or 'L'. */
void chart_spot(FILE *out, char command, double x, double y);
/* Does point i exist and have a value? */
bool chart_is_number(const struct point_list *l, size_t i);

/* ---- Paths ---- */

void chart_grid(FILE *out, const struct chart *f);
/* A line through the points; a point without a value interrupts it. */
void chart_line(FILE *out, const struct chart *f, const char *class,
                const struct point_list *l);
/* Isolated points, and all points if they are at most `most`. */
void chart_dots(FILE *out, const struct chart *f, const char *class,
                const struct point_list *l, size_t most);

/* ---- Numbers ---- */

/* A member of a JSON object: for each point the iteration (0), the value (1), the
 * lowest (2) or the highest (3) value over the ranks. */
void chart_column(FILE *out, const char *key, const struct point_list *l,
                  size_t member);

#endif
