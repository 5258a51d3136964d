/* measures.c - the curves of all metrics, and a table of them. */
#include "config.h"

#include "page/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/curve.h"
#include "page/grid.h"
#include "page/html.h"
#include "page/measures.h"
#include "util/quote.h"

#define CURVES_SHOWN 120
#define ROWS_SHOWN   500
#define TEXT_SHOWN   200 /* bytes of a text or a vector */

/* Points of a curve: 2,000, unless many curves share the size of the page. */
#define POINTS_MAX   2000
#define POINTS_TOTAL 24000

size_t measures_room(const struct facts *f)
{
    size_t curves = 3, room; /* those of times */

    for (size_t i = 0; i < f->table.n_columns; i++)
        curves += series_has_numbers(&f->table.columns[i]);
    if (curves > CURVES_SHOWN)
        curves = CURVES_SHOWN;
    room = POINTS_TOTAL / curves;
    return room > POINTS_MAX ? POINTS_MAX : room;
}

/* *starts to free(). */
int measures_starts(const struct facts *f, double **starts, size_t *n,
                    struct error *err)
{
    *n = 0;
    *starts = calloc(json_array_size(f->attempts) + f->table.n_superseded + 1,
                     sizeof **starts);
    if (!*starts)
        return error_no_memory(err);
    for (size_t i = 1; i < f->table.n; i++)
        if (facts_integer(f, i, "attempt") != facts_integer(f, i - 1, "attempt") &&
            *n < json_array_size(f->attempts))
            (*starts)[(*n)++] = (double)facts_integer(f, i, "training_iteration");
    return 0;
}

static int measure_curves_write(FILE *out, const struct facts *f, size_t *shown,
                                struct error *err)
{
    double *starts;
    size_t n_starts;
    int rc = measures_starts(f, &starts, &n_starts, err);

    for (size_t i = 0; rc == 0 && i < f->table.n_columns && *shown < CURVES_SHOWN;
         i++) {
        const struct metric_column *column = &f->table.columns[i];
        char id[40];

        if (!series_has_numbers(column))
            continue;
        snprintf(id, sizeof id, "metric-%zu", ++*shown);
        rc = curve_write(out,
                         &(struct curve){.name = column->name,
                                         .unit = "",
                                         .id = id,
                                         .series = {&f->table, column, 0, false},
                                         .room = measures_room(f),
                                         .superseded = &f->superseded,
                                         .number = i,
                                         .starts = starts,
                                         .n_starts = n_starts},
                         err);
    }
    free(starts);
    return rc;
}

/* ---- The table ---- */

static void number_cells(struct grid *g, const struct series *s)
{
    char text[HTML_NUMBER_MAX];
    struct series_summary sum;
    struct point points[2];

    series_summarize(s, &sum);
    points[0] = sum.lowest;
    points[1] = sum.highest;
    grid_text(g,
              figure_text(sum.numbers ? series_point(s, sum.n - 1).value : NAN, text));
    for (int i = 0; i < 2; i++) {
        grid_text(g, figure_text(sum.numbers ? points[i].value : NAN, text));
        grid_text(g, sum.numbers ? count_text((int64_t)points[i].iteration, text)
                                 : "\xe2\x80\x93");
    }
}

static void other_cells(struct grid *g, const struct facts *f,
                        const struct metric_column *c)
{
    json_t *value = c->n == f->table.n && c->n > 0 ? c->others[c->n - 1] : NULL;
    char *text = json_is_string(value)  ? strdup(json_string_value(value))
                 : json_is_array(value) ? json_dumps(value, JSON_COMPACT)
                                        : NULL;

    if (text && strlen(text) > TEXT_SHOWN)
        strcpy(text + utf8_cut(text, TEXT_SHOWN - 3), "...");
    grid_cell(g);
    fputs("<span class=\"text\">", g->out);
    html_text(g->out, text ? text : "\xe2\x80\x93");
    fputs("</span>", g->out);
    for (int i = 0; i < 4; i++)
        grid_text(g, "");
    free(text);
}

static void table_write(FILE *out, const struct facts *f)
{
    static const char *const titles[] = {"Metric",        "#Last",    "#Lowest",
                                         "#at iteration", "#Highest", "#at iteration"};
    struct grid g;
    size_t i;

    grid_begin(&g, out, "Values in the reports", titles,
               sizeof titles / sizeof *titles);
    for (i = 0; i < f->table.n_columns && i < ROWS_SHOWN; i++) {
        const struct metric_column *c = &f->table.columns[i];

        grid_text(&g, c->name);
        if (c->kind == METRIC_TEXT || c->kind == METRIC_VECTOR)
            other_cells(&g, f, c);
        else
            number_cells(&g, &(struct series){.table = &f->table, .column = c});
    }
    grid_end(&g, f->table.n_columns - i);
}

/* Controls of the script, hidden without it. */
static const char measure_tools[] =
    "<div class=\"tools\" hidden><label>Show <input id=\"filter\" type=\"search\" "
    "placeholder=\"all metrics\" autocomplete=\"off\"></label> "
    "<label><input id=\"log\" type=\"checkbox\"> logarithmic</label> "
    "<span class=\"hint\">Move over a curve, or focus it and use the arrow keys; drag "
    "to zoom, double-click to reset.</span></div>\n";

int metrics_write(FILE *out, const struct facts *f, struct error *err)
{
    size_t shown = 0;

    fputs("<section id=\"metrics\" aria-labelledby=\"metrics-title\">"
          "<h2 id=\"metrics-title\">Metrics</h2>\n",
          out);
    if (f->table.n == 0) {
        fputs("<p>This run has made no report yet.</p></section>\n", out);
        return 0;
    }
    if (f->table.n_columns == 0) {
        fputs("<p>The reports of this run have no metrics.</p></section>\n", out);
        return 0;
    }
    fprintf(out, "%s<div class=\"curves\">\n", measure_tools);
    if (measure_curves_write(out, f, &shown, err) < 0)
        return -1;
    fputs("</div>\n", out);
    if (shown >= CURVES_SHOWN)
        fprintf(out, "<p class=\"more\">The first %d metrics have a curve.</p>\n",
                CURVES_SHOWN);
    table_write(out, f);
    fputs("</section>\n", out);
    return 0;
}
