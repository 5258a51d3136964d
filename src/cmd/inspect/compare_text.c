/*
 * compare_text.c - a comparison of runs as text: a table with a column for each run, in
 * blocks that are as wide as the terminal.
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/output.h"
#include "inspect/run_summary.h"
#include "inspect/time_text.h"
#include "inspect/views.h"
#include "plot/paper.h"
#include "util/quote.h"
#include "util/size.h"

/* ---- The rows ---- */

/* A row has a label and a text for each run; a heading has only the label. */
static void row_add(json_t *rows, const char *label, json_t *cells)
{
    json_array_append_new(
        rows, json_pack("{s:o, s:o?}", "label", json_text(label), "cells", cells));
}

static json_t *formatted(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static json_t *formatted(const char *fmt, ...)
{
    char text[128];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return json_string(text);
}

static json_t *count_cell(const json_t *value)
{
    return json_is_integer(value)
               ? formatted("%lld", (long long)json_integer_value(value))
               : json_string("-");
}

static json_t *status_cell(const json_t *run)
{
    return json_text(string_of(run, "status"));
}

static json_t *attempts_cell(const json_t *run)
{
    return count_cell(json_object_get(run, "attempts"));
}

static json_t *workers_cell(const json_t *run)
{
    return count_cell(json_object_get(run, "workers"));
}

static json_t *iteration_cell(const json_t *run)
{
    return count_cell(json_object_get(run, "iteration"));
}

static json_t *time_cell(const json_t *run)
{
    const json_t *time = json_object_get(run, "time_total_s");
    char text[TIME_TEXT_MAX];

    return json_string(json_is_number(time) ? time_text(json_number_value(time), text)
                                            : "-");
}

static json_t *checkpoints_cell(const json_t *run)
{
    char size[SIZE_TEXT_MAX];

    if (integer_of(run, "checkpoints") == 0)
        return json_string("none");
    return formatted("%lld, %s", (long long)integer_of(run, "checkpoints"),
                     size_format((uint64_t)integer_of(run, "checkpoint_bytes"), size));
}

static const struct {
    const char *label;
    json_t *(*cell)(const json_t *run);
} facts[] = {
    {"status", status_cell},      {"attempts", attempts_cell},
    {"workers", workers_cell},    {"iteration", iteration_cell},
    {"training time", time_cell}, {"checkpoints", checkpoints_cell},
};

static void facts_add(json_t *rows, json_t *runs)
{
    json_t *run;
    size_t i;

    for (size_t f = 0; f < sizeof facts / sizeof *facts; f++) {
        json_t *cells = json_array();

        json_array_foreach(runs, i, run)
            json_array_append_new(cells, facts[f].cell(run));
        row_add(rows, facts[f].label, cells);
    }
}

static void config_add(json_t *rows, json_t *config)
{
    json_t *values, *value;
    const char *key;
    size_t i;

    if (json_object_size(config) > 0)
        row_add(rows, "configuration", NULL);
    json_object_foreach(config, key, values)
    {
        json_t *cells = json_array();

        json_array_foreach(values, i, value) json_array_append_new(
            cells, json_is_null(value) ? json_string("(not set)") : json_incref(value));
        row_add(rows, key, cells);
    }
}

/* "0.25 (4)": a value and its iteration; at NULL: without. */
static json_t *metric_cell(const json_t *metric, const char *which, const char *at)
{
    const json_t *value = json_object_get(metric, which);

    if (!json_is_number(value))
        return json_string("-");
    if (!at)
        return formatted("%.6g", json_number_value(value));
    return formatted("%.6g (%lld)", json_number_value(value),
                     (long long)integer_of(metric, at));
}

static void metric_row(json_t *rows, json_t *runs, const char *name, const char *what,
                       const char *which, const char *at)
{
    json_t *cells = json_array(), *run;
    char *label = NULL;
    size_t i;

    json_array_foreach(runs, i, run) json_array_append_new(
        cells,
        metric_cell(json_object_get(json_object_get(run, "metrics"), name), which, at));
    if (asprintf(&label, "%s%s", name, what) >= 0)
        row_add(rows, label, cells);
    else
        json_decref(cells);
    free(label);
}

/* True if means over the workers stand beside values of rank 0. */
static void kinds_row(json_t *rows, json_t *runs)
{
    json_t *cells = json_array(), *seen = json_object(), *run, *kind;
    size_t i, k;

    json_array_foreach(runs, i, run)
    {
        const json_t *kinds = json_object_get(run, "metrics_are");
        char *text = run_summary_kinds_text(kinds);

        json_array_append_new(cells, json_string(text ? text : "-"));
        json_array_foreach((json_t *)(uintptr_t)kinds, k, kind)
            json_object_set_new(seen, string_of(kind, "of"), json_true());
        free(text);
    }
    if (json_object_size(seen) > 1)
        row_add(rows, "they are", cells);
    else
        json_decref(cells);
    json_decref(seen);
}

static void metrics_add(json_t *rows, json_t *runs)
{
    json_t *names = run_summary_metrics(runs), *name;
    size_t i;

    if (json_array_size(names) > 0)
        row_add(rows, "metrics (iteration)", NULL);
    if (json_array_size(names) > 0)
        kinds_row(rows, runs);
    json_array_foreach(names, i, name)
    {
        const char *metric = json_string_value(name);
        int best = run_summary_order(runs, metric);

        metric_row(rows, runs, metric, "", "last", NULL);
        if (best != 2)
            metric_row(rows, runs, metric, best ? ", best" : ", lowest", "min",
                       "min_iteration");
        if (best != 1)
            metric_row(rows, runs, metric, best ? ", best" : ", highest", "max",
                       "max_iteration");
    }
    json_decref(names);
}

/* ---- The columns ---- */

#define CELL_MAX 28

/* The widths of the labels and of each run. */
struct widths {
    int label;
    int *cells;
};

static int width_of(const struct paper *paper, const char *text, int most)
{
    char *shown = paper_text(paper, text, most);
    int width = shown ? paper_width(shown) : 1;

    free(shown);
    return width;
}

static struct widths widths_of(const struct paper *paper, json_t *rows, json_t *runs)
{
    struct widths w = {.cells = calloc(json_array_size(runs) + 1, sizeof(int))};
    int most = paper->columns / 2 - 2 < CELL_MAX ? paper->columns / 2 - 2 : CELL_MAX;
    json_t *row, *cell;
    size_t i, k;

    for (k = 0; w.cells && k < json_array_size(runs); k++)
        w.cells[k] = width_of(paper, string_of(json_array_get(runs, k), "name"), most);
    json_array_foreach(rows, i, row)
    {
        int label = width_of(paper, string_of(row, "label"), paper->columns / 2);

        w.label = label > w.label ? label : w.label;
        json_array_foreach(json_object_get(row, "cells"), k, cell)
        {
            int width = width_of(paper, json_string_value(cell), most);

            if (w.cells && width > w.cells[k])
                w.cells[k] = width;
        }
    }
    return w;
}

static void line_print(FILE *out, const struct paper *paper, const struct widths *w,
                       const char *label, json_t *cells, size_t from, size_t to)
{
    paper_print(out, paper, label, cells ? w->label : paper->columns);
    for (size_t k = from; cells && k < to; k++) {
        const char *text = json_string_value(json_array_get(cells, k));
        char *shown = paper_text(paper, text ? text : "-", w->cells[k]);

        fprintf(out, "  %*s%s", w->cells[k] - (shown ? paper_width(shown) : 1), "",
                shown ? shown : "?");
        free(shown);
    }
    fputc('\n', out);
}

/* The runs from `from` to before `to`, side by side. */
static void block_print(FILE *out, const struct paper *paper, const struct widths *w,
                        json_t *rows, json_t *runs, size_t from, size_t to)
{
    json_t *names = json_array(), *run, *row;
    size_t i;

    json_array_foreach(runs, i, run)
        json_array_append(names, json_object_get(run, "name"));
    line_print(out, paper, w, "run", names, from, to);
    json_array_foreach(rows, i, row)
    {
        json_t *cells = json_object_get(row, "cells");

        fputs(cells ? "" : "\n", out); /* before a heading */
        line_print(out, paper, w, string_of(row, "label"), cells, from, to);
    }
    json_decref(names);
}

void inspect_compare_print(FILE *out, const json_t *comparison)
{
    json_t *runs = json_object_get(comparison, "runs"), *rows = json_array();
    size_t n = json_array_size(runs), from = 0;
    struct paper paper = paper_of(out);
    struct widths w;

    facts_add(rows, runs);
    config_add(rows, json_object_get(comparison, "config"));
    metrics_add(rows, runs);
    w = widths_of(&paper, rows, runs);
    while (w.cells && from < n) {
        int width = w.label + 2 + w.cells[from];
        size_t to = from + 1;

        while (to < n && width + 2 + w.cells[to] <= paper.columns)
            width += 2 + w.cells[to++];
        if (from > 0)
            fputc('\n', out);
        block_print(out, &paper, &w, rows, runs, from, to);
        from = to;
    }
    free(w.cells);
    json_decref(rows);
}
