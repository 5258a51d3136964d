/*
 * plot_text.c - a plot as text: panels one below the other, over one axis of iterations
 * or time.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot/paper.h"
#include "plot/plot.h"
#include "plot/plot_axis.h"
#include "plot/plot_data.h"
#include "plot/plot_grid.h"

#define PANEL_ROWS_MIN 5
#define PANEL_ROWS_MAX 30

static const char marks[] = "*+xo#@%&";

struct layout {
    struct paper paper;
    int margin;  /* columns of an axis label */
    int columns; /* of the grid */
    int rows;
};

static char mark_of(const struct plot_data *data, size_t run)
{
    return data->n_runs > 1 ? marks[run % strlen(marks)] : marks[0];
}

/* ---- Layout ---- */

static struct layout layout_of(FILE *out, const struct plot_data *data)
{
    struct layout l = {.paper = paper_of(out)};
    int n = (int)(data->n_panels < 100 ? data->n_panels : 100);
    int legend = data->n_runs > 1 ? (int)(data->n_runs < 100 ? data->n_runs : 100) : 0;

    /* Each panel has a title and a line below it; below all are the text of the axis, the
     * legend and the next prompt. */
    l.rows = (l.paper.rows - 2 - legend) / n - 2;
    l.rows = l.rows < PANEL_ROWS_MIN   ? PANEL_ROWS_MIN
             : l.rows > PANEL_ROWS_MAX ? PANEL_ROWS_MAX
                                       : l.rows;
    return l;
}

static void axis_of(const struct layout *l, const struct plot_data *data,
                    const struct plot_panel *panel, struct plot_axis *axis)
{
    plot_axis_make(panel->low, panel->high, data->log, (size_t)(l->rows / 3 + 1), axis);
}

static void margin_measure(struct layout *l, const struct plot_data *data)
{
    struct plot_axis axis;

    for (size_t i = 0; i < data->n_panels; i++) {
        axis_of(l, data, &data->panels[i], &axis);
        for (size_t t = 0; t < axis.n; t++)
            if ((int)strlen(axis.texts[t]) > l->margin)
                l->margin = (int)strlen(axis.texts[t]);
    }
    if (l->margin > l->paper.columns / 2)
        l->margin = l->paper.columns / 2;
    l->columns = l->paper.columns - l->margin - 2;
}

/* ---- A panel ---- */

static const char *tick_text(const struct layout *l, const struct plot_axis *axis,
                             int row)
{
    for (size_t i = 0; i < axis->n; i++)
        if ((int)lround((1 - plot_axis_place(axis, axis->ticks[i])) * (l->rows - 1)) ==
            row)
            return axis->texts[i];
    return NULL;
}

static void title_print(FILE *out, const struct layout *l,
                        const struct plot_panel *panel)
{
    const char *what = panel->band ? " (with lowest and highest of the workers)" : "";
    char *title = paper_text(&l->paper, panel->metric, l->paper.columns);

    fputs(title ? title : "?", out);
    if (title && paper_width(title) + (int)strlen(what) <= l->paper.columns)
        fputs(what, out);
    fputc('\n', out);
    free(title);
}

static void grid_print(FILE *out, const struct layout *l, const struct plot_grid *grid,
                       const struct plot_axis *axis)
{
    bool utf8 = l->paper.utf8;

    for (int row = 0; row < l->rows; row++) {
        const char *text = tick_text(l, axis, row);

        fprintf(out, "%*.*s %s", l->margin, l->margin, text ? text : "",
                !utf8  ? "|"
                : text ? "\xe2\x94\xa4"
                       : "\xe2\x94\x82");
        plot_grid_print(out, grid, row, utf8);
        fputc('\n', out);
    }
    fprintf(out, "%*s %s", l->margin, "", utf8 ? "\xe2\x94\x94" : "+");
    for (int x = 0; x < l->columns; x++)
        fputs(utf8 ? "\xe2\x94\x80" : "-", out);
    fputc('\n', out);
}

static int panel_print(FILE *out, const struct layout *l, const struct plot_data *data,
                       const struct plot_panel *panel, struct error *err)
{
    struct plot_axis axis;
    struct plot_grid grid;

    axis_of(l, data, panel, &axis);
    if (plot_grid_create(&grid, l->columns, l->rows, l->paper.utf8 && data->n_runs == 1,
                         err) < 0)
        return -1;
    if (panel->band)
        plot_grid_band(&grid, &panel->curves[0], &axis, data->x_low, data->x_high);
    for (size_t r = 0; r < data->n_runs; r++)
        plot_grid_curve(&grid, &panel->curves[r], &axis, data->x_low, data->x_high,
                        mark_of(data, r));
    title_print(out, l, panel);
    grid_print(out, l, &grid, &axis);
    plot_grid_clear(&grid);
    return 0;
}

/* ---- All ---- */

/* Does a run have no number of any metric that is drawn? */
static bool is_empty(const struct plot_data *data, size_t run)
{
    for (size_t i = 0; i < data->n_panels; i++)
        if (!isnan(data->panels[i].curves[run].last))
            return false;
    return true;
}

static void legend_print(FILE *out, const struct layout *l,
                         const struct plot_data *data, size_t run)
{
    const char *note = is_empty(data, run) ? " (no numbers)" : "";
    char *label = paper_text(&l->paper, data->labels[run],
                             l->paper.columns - 4 - (int)strlen(note));

    fprintf(out, "  %c %s%s\n", mark_of(data, run), label ? label : "?", note);
    free(label);
}

static void below_print(FILE *out, const struct layout *l, const struct plot_data *data)
{
    char text[120];
    int indent = l->margin + 2;

    snprintf(text, sizeof text, "%s %.10g to %.10g%s",
             data->by_time ? "time_total_s" : "training_iteration", data->x_low,
             data->x_high, data->log ? ", logarithmic values" : "");
    if (indent + (int)strlen(text) > l->paper.columns)
        indent = 0;
    fprintf(out, "%*s%.*s\n", indent, "", l->paper.columns, text);
    for (size_t r = 0; data->n_runs > 1 && r < data->n_runs; r++)
        legend_print(out, l, data, r);
}

int plot_print(FILE *out, const struct plot_request *plot, struct error *err)
{
    struct plot_data data;
    struct layout l;
    int rc = plot_data_load(plot, &data, err);

    if (rc == 0) {
        l = layout_of(out, &data);
        margin_measure(&l, &data);
        for (size_t i = 0; rc == 0 && i < data.n_panels; i++)
            rc = panel_print(out, &l, &data, &data.panels[i], err);
        below_print(out, &l, &data);
    }
    plot_data_clear(&data);
    return rc;
}
