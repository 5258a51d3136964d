/*
 * curve.h - a series as a figure: an SVG with its axes, and the numbers behind it,
 * which page.js shows under the pointer or by the arrow keys.
 */
#ifndef RAYTRAIN_PAGE_CURVE_H
#define RAYTRAIN_PAGE_CURVE_H

#include <stdio.h>

#include "page/superseded.h"

struct curve {
    const char *name; /* as in the reports */
    const char *unit; /* "s", or "" */
    const char *id;   /* id of the element, unique on the page */
    struct series series;
    size_t room; /* points */
    /* The replaced values, and the number of the column there. NULL: none are drawn. */
    const struct superseded *superseded;
    size_t number;
    /* The iterations at which attempts after the first one begin. */
    const double *starts;
    size_t n_starts;
};

int curve_write(FILE *out, const struct curve *c, struct error *err);

#endif
