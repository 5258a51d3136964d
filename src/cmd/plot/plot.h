/*
 * plot.h - plot metrics of runs: as text, or into a file by gnuplot.
 *
 * Each metric has a panel with its own axis of values; a panel has a curve for each
 * run: the values in the reports. If there is only one run, also the range from the
 * lowest to the highest worker.
 */
#ifndef RAYTRAIN_PLOT_PLOT_H
#define RAYTRAIN_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/error.h"

struct plot_request {
    const char *metrics; /* separated by commas */
    char *const *runs;   /* directories */
    size_t n_runs;
    bool log;     /* a logarithmic axis of values */
    bool by_time; /* plot over seconds of training instead of iterations */
};

/* RAYTRAIN_ENOTFOUND: no run has numbers of a metric. */
int plot_print(FILE *out, const struct plot_request *plot, struct error *err);

/* Write a .png, .svg or .pdf: the file gets its name when it is complete, and replaces
 * an older one. RAYTRAIN_EUSAGE for other endings, RAYTRAIN_ENOTFOUND without
 * gnuplot. */
int plot_write(const char *file, const struct plot_request *plot, struct error *err);

#endif
