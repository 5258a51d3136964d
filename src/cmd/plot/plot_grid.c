/* plot_grid.c - draw curves and bands into a grid of characters, and print its rows.
 * Axes and labels are in plot_text.c. */
#include "config.h"

#include "plot/plot_grid.h"

#include <math.h>
#include <stdlib.h>

int plot_grid_create(struct plot_grid *grid, int columns, int rows, bool braille,
                     struct error *err)
{
    *grid = (struct plot_grid){.columns = columns, .rows = rows, .braille = braille};
    grid->cells = calloc((size_t)columns * (size_t)rows, 1);
    grid->tops = calloc((size_t)columns, sizeof *grid->tops);
    grid->bottoms = calloc((size_t)columns, sizeof *grid->bottoms);
    if (!grid->cells || !grid->tops || !grid->bottoms) {
        plot_grid_clear(grid);
        return error_no_memory(err);
    }
    for (int x = 0; x < columns; x++) {
        grid->tops[x] = rows;
        grid->bottoms[x] = -1;
    }
    return 0;
}

void plot_grid_clear(struct plot_grid *grid)
{
    free(grid->cells);
    free(grid->tops);
    free(grid->bottoms);
    *grid = (struct plot_grid){0};
}

/* ---- Lines ---- */

/* The pen. It draws on a grid of columns x rows points. */
struct pen {
    struct plot_grid *grid;
    int columns, rows;
    char mark;
    void (*set)(const struct pen *pen, int x, int y);
    bool down; /* it stands at x, y */
    int x, y;
};

static void dot_set(const struct pen *pen, int x, int y)
{
    /* The bits of the dots of the left and the right column, from the top. */
    static const unsigned char bits[2][4] = {{0x01, 0x02, 0x04, 0x40},
                                             {0x08, 0x10, 0x20, 0x80}};

    pen->grid->cells[y / 4 * pen->grid->columns + x / 2] |= bits[x % 2][y % 4];
}

static void mark_set(const struct pen *pen, int x, int y)
{
    pen->grid->cells[y * pen->grid->columns + x] = (unsigned char)pen->mark;
}

static void band_set(const struct pen *pen, int x, int y)
{
    if (y < pen->grid->tops[x])
        pen->grid->tops[x] = y;
    if (y > pen->grid->bottoms[x])
        pen->grid->bottoms[x] = y;
}

/* Draw a line from the pen's position. In each column it goes from halfway to the
 * column before up to its own point. */
static void pen_draw(struct pen *pen, int x, int y)
{
    int from = pen->y, columns = x - pen->x;

    if (!pen->down || columns < 0) {
        pen->set(pen, x, y);
    } else if (columns == 0) {
        for (int at = from < y ? from : y; at <= (from < y ? y : from); at++)
            pen->set(pen, x, at);
    }
    for (int i = 1; pen->down && i <= columns; i++) {
        int to = pen->y + (int)lround((double)(y - pen->y) * i / columns);
        int step = to > from ? 1 : -1;

        /* Half of a steep line belongs to the column before it. */
        for (int at = from; at != to; at += step)
            pen->set(pen,
                     abs(at - from) * 2 < abs(to - from) ? pen->x + i - 1 : pen->x + i,
                     at);
        pen->set(pen, pen->x + i, to);
        from = to;
    }
    pen->down = true;
    pen->x = x;
    pen->y = y;
}

enum value { MEAN, LOW, HIGH };

static double point_value(const struct plot_point *p, enum value which)
{
    return which == LOW ? p->low : which == HIGH ? p->high : p->mean;
}

static void curve_draw(struct pen *pen, const struct plot_curve *curve,
                       enum value which, const struct plot_axis *axis, double x_low,
                       double x_high)
{
    pen->down = false;
    for (size_t i = 0; i < curve->n; i++) {
        const struct plot_point *p = &curve->points[i];
        double x;

        if (isnan(p->mean)) {
            pen->down = false;
            continue;
        }
        x = x_high > x_low ? (p->x - x_low) / (x_high - x_low) : 0.5;
        pen_draw(pen, (int)lround(x * (pen->columns - 1)),
                 (int)lround((1 - plot_axis_place(axis, point_value(p, which))) *
                             (pen->rows - 1)));
    }
}

void plot_grid_curve(struct plot_grid *grid, const struct plot_curve *curve,
                     const struct plot_axis *axis, double x_low, double x_high,
                     char mark)
{
    struct pen pen = {.grid = grid,
                      .columns = grid->columns * (grid->braille ? 2 : 1),
                      .rows = grid->rows * (grid->braille ? 4 : 1),
                      .mark = mark,
                      .set = grid->braille ? dot_set : mark_set};

    curve_draw(&pen, curve, MEAN, axis, x_low, x_high);
}

void plot_grid_band(struct plot_grid *grid, const struct plot_curve *curve,
                    const struct plot_axis *axis, double x_low, double x_high)
{
    struct pen pen = {
        .grid = grid, .columns = grid->columns, .rows = grid->rows, .set = band_set};

    curve_draw(&pen, curve, LOW, axis, x_low, x_high);
    curve_draw(&pen, curve, HIGH, axis, x_low, x_high);
}

/* ---- Printing ---- */

static bool in_band(const struct plot_grid *grid, int x, int row)
{
    return row >= grid->tops[x] && row <= grid->bottoms[x];
}

static void cell_print(FILE *out, const struct plot_grid *grid, int x, int row,
                       bool utf8)
{
    unsigned char cell = grid->cells[row * grid->columns + x];

    if (!cell && in_band(grid, x, row))
        fputs(utf8 ? "\xe2\x96\x91" : ".", out);
    else if (!cell)
        fputc(' ', out);
    else if (grid->braille) /* U+2800 with these bits */
        fprintf(out, "\xe2%c%c", 0xa0 | cell >> 6, 0x80 | (cell & 0x3f));
    else
        fputc(cell, out);
}

void plot_grid_print(FILE *out, const struct plot_grid *grid, int row, bool utf8)
{
    int n = grid->columns;

    while (n > 0 && !grid->cells[row * grid->columns + n - 1] &&
           !in_band(grid, n - 1, row))
        n--;
    for (int x = 0; x < n; x++)
        cell_print(out, grid, x, row, utf8);
}
