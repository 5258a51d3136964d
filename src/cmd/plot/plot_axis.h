/* plot_axis.h - an axis with round numbers, linear or logarithmic. */
#ifndef RAYTRAIN_PLOT_PLOT_AXIS_H
#define RAYTRAIN_PLOT_PLOT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define PLOT_TICKS_MAX 24
#define PLOT_TICK_TEXT 32

struct plot_axis {
    double low, high; /* the ends: low < high */
    bool log;
    size_t n; /* at least 2: the first and the last are the ends */
    double ticks[PLOT_TICKS_MAX];
    char texts[PLOT_TICKS_MAX][PLOT_TICK_TEXT]; /* all different */
};

/* An axis that covers [low, high], which are finite, and positive if log; it has at
 * most `most` marks (2 to PLOT_TICKS_MAX). */
void plot_axis_make(double low, double high, bool log, size_t most,
                    struct plot_axis *axis);

/* The position of a value: 0 at the low end, 1 at the high end. */
double plot_axis_place(const struct plot_axis *axis, double value);

#endif
