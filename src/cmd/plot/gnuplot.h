/* gnuplot.h - run gnuplot. */
#ifndef RAYTRAIN_PLOT_GNUPLOT_H
#define RAYTRAIN_PLOT_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

#include "util/error.h"

/* Run a script whose picture goes to gnuplot's standard output, which becomes *bytes
 * (malloc'ed). RAYTRAIN_ENOTFOUND: there is no gnuplot; RAYTRAIN_EFAILED: it failed,
 * with its last words. No shell, no files with names, and no settings of the user's are
 * involved. */
int gnuplot_run(const char *script, size_t n, char **bytes, size_t *n_bytes,
                struct error *err);

/* Write a string of a script: whatever is in it, it is text and nothing else. */
void gnuplot_string(FILE *script, const char *text);

#endif
