/*
 * compare_view.c - several runs side by side: what they are, how their configurations
 * differ, and what their metrics have come to.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_diff.h"
#include "inspect/csv_output.h"
#include "inspect/time_text.h"
#include "inspect/output.h"
#include "inspect/run_list.h"
#include "inspect/run_summary.h"
#include "inspect/views.h"
#include "plot/paper.h"
#include "plot/run_labels.h"
#include "run/attempt_config.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/argv.h"
#include "util/quote.h"
#include "util/size.h"

/* ---- Metrics ---- */

static double value_at(const struct metric_column *c, size_t row)
{
    if (c->kind == METRIC_NUMBER)
        return c->numbers[row].mean;
    if (c->kind == METRIC_INT && c->integers[row] != METRIC_INT_MISSING)
        return (double)c->integers[row];
    return NAN;
}

static json_t *number_json(const struct metrics_table *t, const struct metric_column *c,
                           size_t row)
{
    if (row >= t->n || !isfinite(value_at(c, row)))
        return json_null();
    return c->kind == METRIC_INT ? json_integer(c->integers[row])
                                 : json_real(c->numbers[row].mean);
}

/* The last, lowest and highest value of a column, with their iterations. */
static json_t *column_json(const struct metrics_table *t, const struct metric_column *c)
{
    size_t low = t->n, high = t->n, last = t->n;

    for (size_t i = 0; i < c->n; i++) {
        double value = value_at(c, i);

        if (!isfinite(value))
            continue;
        last = i;
        if (low == t->n || value < value_at(c, low))
            low = i;
        if (high == t->n || value > value_at(c, high))
            high = i;
    }
    if (last == t->n)
        return NULL;
    return json_pack("{s:o, s:o, s:I, s:o, s:I}", "last", number_json(t, c, last),
                     "min", number_json(t, c, low), "min_iteration",
                     (json_int_t)t->fields[low][0].integer, "max",
                     number_json(t, c, high), "max_iteration",
                     (json_int_t)t->fields[high][0].integer);
}

static int metrics_set(json_t *run, const char *path, struct error *err)
{
    struct metrics_table table = {0};
    json_t *metrics = json_object();
    int rc = metrics_load_table(path, &table, err);

    for (size_t i = 0; rc == 0 && i < table.n_columns; i++) {
        const struct metric_column *c = &table.columns[i];
        json_t *one = c->kind == METRIC_NUMBER || c->kind == METRIC_INT
                          ? column_json(&table, c)
                          : NULL;

        if (one)
            json_object_set_new(metrics, c->name, one);
    }
    json_object_set_new(run, "metrics", metrics);
    json_object_set_new(run, "reports", json_integer((json_int_t)table.n));
    metrics_table_clear(&table);
    return rc;
}

/* ---- Configurations ---- */

static char *config_of(const char *run)
{
    return attempt_config_newest(run, run_dir_last_attempt(run));
}

static json_t *text_or_null(const char *text)
{
    return text ? json_text(text) : json_null();
}

/* Note in `keys`, an object of arrays with a value for each run, how run i differs from
 * the first one. */
static int config_compare(json_t *keys, const char *first, const char *now, size_t i)
{
    struct config_changes changes;

    if (!first || !now || config_diff(first, now, &changes, NULL) < 0)
        return -1;
    for (size_t k = 0; k < changes.n; k++) {
        const struct config_change *c = &changes.list[k];
        json_t *values = json_object_get(keys, c->key);

        if (strcmp(c->key, "run_config.name") == 0)
            continue; /* it is in the head */
        if (!values) {
            values = json_array();
            json_object_set_new(keys, c->key, values);
        }
        while (json_array_size(values) < i)
            json_array_append_new(values, text_or_null(c->before));
        json_array_append_new(values, text_or_null(c->now));
    }
    /* What is the same as in the first run. */
    config_changes_clear(&changes);
    return 0;
}

/* Runs whose configuration cannot be read have null everywhere. */
static json_t *config_json(const struct run_list *list)
{
    json_t *keys = json_object(), *values;
    char *first = config_of(list->paths[0]);
    const char *key;

    for (size_t i = 1; i < list->n; i++) {
        char *now = config_of(list->paths[i]);
        bool known = config_compare(keys, first, now, i) == 0;

        json_object_foreach(keys, key, values) if (json_array_size(values) <= i)
            json_array_append_new(values,
                                  known ? json_deep_copy(json_array_get(values, 0))
                                        : json_null());
        free(now);
    }
    free(first);
    return keys;
}

/* ---- The object ---- */

json_t *inspect_compare(const struct run_list *list, struct error *err)
{
    json_t *out = json_object(), *runs = json_array();
    char **labels = NULL;
    int rc = run_labels(list->paths, list->n, &labels, err);

    json_object_set_new(out, "kind", json_string("compare"));
    json_object_set_new(out, "runs", runs);
    for (size_t i = 0; rc == 0 && i < list->n; i++) {
        json_t *run = run_summary(list->paths[i]);

        json_object_set_new(run, "name", json_text(labels[i]));
        rc = metrics_set(run, list->paths[i], err);
        json_array_append_new(runs, run);
    }
    argv_free(labels);
    if (rc < 0) {
        json_decref(out);
        return NULL;
    }
    json_object_set_new(out, "config", config_json(list));
    return out;
}

/* ---- The rows of the text ---- */

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

/* Is it the metric by which checkpoints are kept, in all runs in the same way? 1: the
 * lowest is best, 2: the highest. */
static int best_of(json_t *runs, const char *name)
{
    int all = 0;
    json_t *run;
    size_t i;

    json_array_foreach(runs, i, run)
    {
        int one = strcmp(string_of(run, "score"), name) != 0        ? 0
                  : json_is_true(json_object_get(run, "score_min")) ? 1
                                                                    : 2;

        if (one == 0 || (i > 0 && one != all))
            return 0;
        all = one;
    }
    return all;
}

static void metrics_add(json_t *rows, json_t *runs)
{
    json_t *names = run_summary_metrics(runs), *name;
    size_t i;

    if (json_array_size(names) > 0)
        row_add(rows, "metrics (iteration)", NULL);
    json_array_foreach(names, i, name)
    {
        const char *metric = json_string_value(name);
        int best = best_of(runs, metric);

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

/* ---- The text ---- */

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

/* The runs from `from` to `to`, one beside the other. */
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

/* ---- CSV ---- */

static const char *const csv_keys[] = {
    "name",     "status",  "iteration",   "time_total_s",     "updated",
    "attempts", "workers", "checkpoints", "checkpoint_bytes", "path"};
static const char *const csv_stats[] = {"last", "min", "min_iteration", "max",
                                        "max_iteration"};
#define N_KEYS  (sizeof csv_keys / sizeof *csv_keys)
#define N_STATS (sizeof csv_stats / sizeof *csv_stats)

static void csv_head(FILE *out, json_t *config, json_t *names)
{
    json_t *value;
    const char *key;
    size_t k;

    for (size_t c = 0; c < N_KEYS; c++) {
        if (c > 0)
            csv_next(out);
        csv_text(out, csv_keys[c]);
    }
    json_object_foreach(config, key, value)
    {
        csv_next(out);
        csv_text(out, key);
    }
    json_array_foreach(names, k, value) for (size_t s = 0; s < N_STATS; s++)
    {
        json_t *title = formatted("%.100s.%s", json_string_value(value), csv_stats[s]);

        csv_next(out);
        csv_json(out, title);
        json_decref(title);
    }
    csv_end(out);
}

static void csv_row(FILE *out, const json_t *run, size_t i, json_t *config,
                    json_t *names)
{
    json_t *value;
    const char *key;
    size_t k;

    for (size_t c = 0; c < N_KEYS; c++) {
        if (c > 0)
            csv_next(out);
        csv_json(out, json_object_get(run, csv_keys[c]));
    }
    json_object_foreach(config, key, value)
    {
        csv_next(out);
        csv_json(out, json_array_get(value, i));
    }
    json_array_foreach(names, k, value) for (size_t s = 0; s < N_STATS; s++)
    {
        csv_next(out);
        csv_json(out, json_object_get(json_object_get(json_object_get(run, "metrics"),
                                                      json_string_value(value)),
                                      csv_stats[s]));
    }
    csv_end(out);
}

void inspect_compare_csv(FILE *out, const json_t *comparison)
{
    json_t *runs = json_object_get(comparison, "runs"),
           *config = json_object_get(comparison, "config"),
           *names = run_summary_metrics(runs), *run;
    size_t i;

    csv_head(out, config, names);
    json_array_foreach(runs, i, run) csv_row(out, run, i, config, names);
    json_decref(names);
}
