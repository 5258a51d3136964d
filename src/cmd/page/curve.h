/*
 * curve.h - a series as a figure: an SVG with its axes, and the numbers behind it, which
 * page.js shows when a pointer or the arrow keys move over it.
 */
#ifndef RAYTRAIN_PAGE_CURVE_H
#define RAYTRAIN_PAGE_CURVE_H

#include <stdio.h>

#include "page/superseded.h"

struct curve {
    const char *name; /* as it is in the reports */
    const char *unit; /* "s", or "" */
    const char *id;   /* of the element, unique on the page */
    struct series series;
    size_t room; /* points */
    /* Values that were replaced, and the number of the column there. NULL: none are
     * drawn. */
    const struct superseded *superseded;
    size_t number;
    /* Iterations with which an attempt begins, after the first one. */
    const double *starts;
    size_t n_starts;
};

int curve_write(FILE *out, const struct curve *c, struct error *err);

#endif
