/*
 * overlay.h - a metric of several runs as a figure: a line for each run over common
 * axes, with the names of the runs and their values below.
 */
#ifndef RAYTRAIN_PAGE_OVERLAY_H
#define RAYTRAIN_PAGE_OVERLAY_H

#include <stdio.h>

#include "page/series.h"

/* The number of lines that differ at a glance: 8 colours, each solid, dashed and
 * dotted. */
#define OVERLAY_RUNS 24

struct overlay_line {
    const char *name;             /* name of the run */
    struct point_list all, means; /* no means: `all` has every report */
    struct series_summary sum;    /* without numbers: the run has no line */
};

struct overlay {
    const char *metric;
    const char *id; /* id of the element, unique on the page */
    const struct overlay_line *lines;
    size_t n;
};

/* Take the points of a line from a series, at most `room`. */
int overlay_line_take(struct overlay_line *line, const struct series *s, size_t room,
                      struct error *err);
void overlay_line_clear(struct overlay_line *line);

/* Write the figure; nothing, and false, for a metric without numbers. */
bool overlay_write(FILE *out, const struct overlay *o);

/* The key of a run's line: its colour and its dashes. */
void overlay_key(FILE *out, size_t run);

#endif
