/*
 * plot_data.h - the points of a plot: a few thousand for each curve, whatever the
 * number of reports.
 */
#ifndef RAYTRAIN_PLOT_PLOT_DATA_H
#define RAYTRAIN_PLOT_PLOT_DATA_H

#include "plot/plot.h"

/* If there are too many reports for one point each, adjacent ones are grouped, and the
 * lowest and highest of each group remain, so that no peak is lost. mean NaN: a gap. */
struct plot_point {
    double x, mean, low, high;
};

struct plot_curve {
    size_t run; /* number of its run */
    struct plot_point *points;
    size_t n;
    double last; /* the last number; NaN: none */
};

struct plot_panel {
    char *metric;
    struct plot_curve *curves; /* one for each run */
    bool band;                 /* some low < high, and there is only one run */
    double low, high;          /* range of all that is drawn */
    size_t left_out;           /* points left out of a logarithmic axis */
};

struct plot_data {
    struct plot_panel *panels;
    size_t n_panels;
    char **labels; /* names of the runs */
    size_t n_runs;
    double x_low, x_high;
    bool log, by_time;
};

/* *data is zeros; clear it in any case. */
int plot_data_load(const struct plot_request *plot, struct plot_data *data,
                   struct error *err);
void plot_data_clear(struct plot_data *data);

#endif
