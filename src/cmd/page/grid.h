/*
 * grid.h - a table: a caption, columns and rows. On a narrow page rows become blocks,
 * so each cell has its column's title, too.
 */
#ifndef RAYTRAIN_PAGE_GRID_H
#define RAYTRAIN_PAGE_GRID_H

#include <stddef.h>
#include <stdio.h>

struct grid {
    FILE *out;
    const char *const *titles; /* a '#' before one marks a column of numbers */
    size_t n, at;              /* number of columns; the next cell */
};

void grid_begin(struct grid *g, FILE *out, const char *caption,
                const char *const *titles, size_t n);
/* Begin the next cell; its contents are then written to `out`. */
void grid_cell(struct grid *g);
/* Write a whole cell. */
void grid_text(struct grid *g, const char *text);
/* The number of further rows that are not shown; 0: all are shown. */
void grid_end(struct grid *g, size_t left_out);

#endif
