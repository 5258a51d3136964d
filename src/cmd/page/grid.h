/*
 * grid.h - a table: a caption, columns, and rows, which stand below each other as
 * blocks if the page is narrow; so each cell knows its column's title.
 */
#ifndef RAYTRAIN_PAGE_GRID_H
#define RAYTRAIN_PAGE_GRID_H

#include <stddef.h>
#include <stdio.h>

struct grid {
    FILE *out;
    const char *const *titles; /* a '#' before one: a column of numbers */
    size_t n, at;              /* columns; the next cell */
};

void grid_begin(struct grid *g, FILE *out, const char *caption,
                const char *const *titles, size_t n);
/* Before the contents of the next cell, which are then written to `out`. */
void grid_cell(struct grid *g);
/* A whole cell. */
void grid_text(struct grid *g, const char *text);
/* Further rows are not shown; 0: all are. */
void grid_end(struct grid *g, size_t left_out);

#endif
