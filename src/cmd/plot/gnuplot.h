/* gnuplot.h - run gnuplot on a script. */
#ifndef RAYTRAIN_PLOT_GNUPLOT_H
#define RAYTRAIN_PLOT_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

#include "util/error.h"

/* Run a script whose picture goes to gnuplot's standard output, which becomes *bytes
 * (malloc'ed). RAYTRAIN_ENOTFOUND: gnuplot is not installed; RAYTRAIN_EFAILED: it
 * failed, with the end of its message. Uses no shell, no named files, and no settings
 * of the user. */
int gnuplot_run(const char *script, size_t n, char **bytes, size_t *n_bytes,
                struct error *err);

/* Write a string constant of a script, in which no character has a special meaning. */
void gnuplot_string(FILE *script, const char *text);

#endif
