/*
 * plot_grid.h - a grid of characters with curves: one curve as dots of Braille
 * characters, 2 x 4 in each, or several as marks of one character each; and a band
 * behind them.
 */
#ifndef RAYTRAIN_PLOT_PLOT_GRID_H
#define RAYTRAIN_PLOT_PLOT_GRID_H

#include <stdbool.h>
#include <stdio.h>

#include "plot/plot_axis.h"
#include "plot/plot_data.h"

struct plot_grid {
    int columns, rows;
    bool braille;
    unsigned char *cells; /* dots, or a mark; 0: empty */
    int *tops, *bottoms;  /* rows of the band in each column; top > bottom: none */
};

int plot_grid_create(struct plot_grid *grid, int columns, int rows, bool braille,
                     struct error *err);
void plot_grid_clear(struct plot_grid *grid);

/* Draw a curve, or the band of one, with these axes. */
void plot_grid_curve(struct plot_grid *grid, const struct plot_curve *curve,
                     const struct plot_axis *axis, double x_low, double x_high,
                     char mark);
void plot_grid_band(struct plot_grid *grid, const struct plot_curve *curve,
                    const struct plot_axis *axis, double x_low, double x_high);

/* Print a row, without blanks at its end. */
void plot_grid_print(FILE *out, const struct plot_grid *grid, int row, bool utf8);

#endif
