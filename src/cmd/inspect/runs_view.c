/*
 * runs_view.c - a directory of runs: a line for each, the most recently active one
 * first.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/csv_output.h"
#include "inspect/time_text.h"
#include "inspect/output.h"
#include "inspect/run_list.h"
#include "inspect/run_summary.h"
#include "inspect/views.h"
#include "plot/paper.h"
#include "run/run_pulse.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/size.h"

/* ---- The object ---- */

/* A path, relative to the directory. */
static const char *name_in(const char *dir, const char *path)
{
    size_t n = strlen(dir);

    if (strncmp(path, dir, n) != 0)
        return path;
    path += n;
    return path + strspn(path, "/");
}

static int newest_first(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    json_int_t when = integer_of(x, "updated"), other = integer_of(y, "updated");

    return when != other ? (when > other ? -1 : 1)
                         : strcmp(string_of(x, "name"), string_of(y, "name"));
}

/* The summaries as an array, sorted. */
static json_t *summaries_make(const char *dir, const struct run_list *list)
{
    struct run_pulse *pulses = run_pulse_take(list->paths, list->n);
    json_t **runs = calloc(list->n + 1, sizeof(json_t *)), *all = json_array();

    for (size_t i = 0; runs && i < list->n; i++) {
        runs[i] = run_summary(list->paths[i], pulses && pulses[i].alive);
        json_object_set_new(runs[i], "name", json_text(name_in(dir, list->paths[i])));
    }
    if (runs && list->n > 1)
        qsort(runs, list->n, sizeof *runs, newest_first);
    for (size_t i = 0; runs && i < list->n; i++)
        json_array_append_new(all, runs[i]);
    free(runs);
    free(pulses);
    return all;
}

json_t *inspect_runs(const char *path, const struct run_list *list, struct error *err)
{
    char *dir = realpath(path, NULL);
    json_t *out = json_object();

    if (!dir || !out) {
        fs_error(err, "open", path);
        free(dir);
        json_decref(out);
        return NULL;
    }
    json_object_set_new(out, "kind", json_string("runs"));
    json_object_set_new(out, "path", json_text(dir));
    json_object_set_new(out, "complete", json_boolean(!list->cut));
    json_object_set_new(out, "runs", summaries_make(path, list));
    free(dir);
    return out;
}

/* ---- The text ---- */

#define CELL 40

/* A column of the table. `least`: the paper's width from which on it is shown. */
struct list_column {
    const char *title;
    bool left;
    int least;
    void (*fill)(const json_t *run, char cell[CELL]);
};

static void status_fill(const json_t *run, char cell[CELL])
{
    snprintf(cell, CELL, "%s", string_of(run, "status"));
}

static void iteration_fill(const json_t *run, char cell[CELL])
{
    if (json_is_integer(json_object_get(run, "iteration")))
        snprintf(cell, CELL, "%lld", (long long)integer_of(run, "iteration"));
}

static void time_fill(const json_t *run, char cell[CELL])
{
    const json_t *time = json_object_get(run, "time_total_s");

    if (json_is_number(time))
        time_text(json_number_value(time), cell);
}

static void checkpoints_fill(const json_t *run, char cell[CELL])
{
    snprintf(cell, CELL, "%lld", (long long)integer_of(run, "checkpoints"));
}

static void size_fill(const json_t *run, char cell[CELL])
{
    if (integer_of(run, "checkpoint_bytes") > 0)
        size_format((uint64_t)integer_of(run, "checkpoint_bytes"), cell);
}

static void age_fill(const json_t *run, char cell[CELL])
{
    double age = clock_unix_double() - (double)integer_of(run, "updated");

    if (integer_of(run, "updated") > 0)
        time_text_short(age > 0 ? age : 0, cell);
}

static const struct list_column list_columns[] = {
    {"status", true, 0, status_fill}, {"iteration", false, 0, iteration_fill},
    {"time", false, 60, time_fill},   {"checkpoints", false, 90, checkpoints_fill},
    {"size", false, 70, size_fill},   {"age", false, 50, age_fill},
};
#define N_COLUMNS (sizeof list_columns / sizeof *list_columns)

struct list_layout {
    struct paper paper;
    int name;              /* width */
    int widths[N_COLUMNS]; /* 0: not shown */
};

static int cells_width(const struct list_layout *l)
{
    int width = l->name;

    for (size_t c = 0; c < N_COLUMNS; c++)
        width += l->widths[c] ? l->widths[c] + 2 : 0;
    return width;
}

/* The width of names: a third of the paper, or what the other columns leave. */
static void name_measure(struct list_layout *l, json_t *runs)
{
    int most = l->paper.columns - cells_width(l);
    json_t *run;
    size_t i;

    if (most < l->paper.columns / 3)
        most = l->paper.columns / 3;
    l->name = 3;
    json_array_foreach(runs, i, run)
    {
        char *name = paper_text(&l->paper, string_of(run, "name"), most);

        if (name && paper_width(name) > l->name)
            l->name = paper_width(name);
        free(name);
    }
}

static struct list_layout layout_of(FILE *out, json_t *runs)
{
    struct list_layout l = {.paper = paper_of(out)};
    json_t *run;
    size_t i;

    for (size_t c = 0; c < N_COLUMNS; c++)
        if (l.paper.columns >= list_columns[c].least)
            l.widths[c] = (int)strlen(list_columns[c].title);
    json_array_foreach(runs, i, run)
    {
        for (size_t c = 0; c < N_COLUMNS; c++) {
            char cell[CELL] = "";

            list_columns[c].fill(run, cell);
            if (l.widths[c] && (int)strlen(cell) > l.widths[c])
                l.widths[c] = (int)strlen(cell);
        }
    }
    name_measure(&l, runs);
    return l;
}

/* "loss 0.31  accuracy 0.88": as many as fit. */
static void runs_metrics_print(FILE *out, const struct paper *paper,
                               const json_t *metrics, int columns)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)metrics, name, value)
    {
        char *shown = paper_text(paper, name, columns), number[32];
        int width;

        snprintf(number, sizeof number, " %.5g", json_number_value(value));
        width = shown ? 2 + paper_width(shown) + (int)strlen(number) : columns + 1;
        if (json_is_number(value) && width <= columns)
            fprintf(out, "  %s%s", shown, number);
        free(shown);
        if (json_is_number(value))
            columns -= width;
        if (columns < 0)
            return;
    }
}

static void run_line(FILE *out, const struct list_layout *l, const json_t *run)
{
    paper_print(out, &l->paper, string_of(run, "name"), l->name);
    for (size_t c = 0; c < N_COLUMNS; c++) {
        char cell[CELL] = "";

        list_columns[c].fill(run, cell);
        if (l->widths[c])
            fprintf(out, list_columns[c].left ? "  %-*s" : "  %*s", l->widths[c], cell);
    }
    runs_metrics_print(out, &l->paper, json_object_get(run, "metrics"),
                       l->paper.columns - cells_width(l));
    fputc('\n', out);
}

void inspect_runs_print(FILE *out, const json_t *view)
{
    json_t *runs = json_object_get(view, "runs"), *run;
    struct list_layout l = layout_of(out, runs);
    size_t i;

    fprintf(out, "%-*s", l.name, "run");
    for (size_t c = 0; c < N_COLUMNS; c++)
        if (l.widths[c])
            fprintf(out, list_columns[c].left ? "  %-*s" : "  %*s", l.widths[c],
                    list_columns[c].title);
    fprintf(out, "%s\n",
            l.paper.columns - cells_width(&l) - 2 >= 10 ? "  metrics" : "");
    json_array_foreach(runs, i, run) run_line(out, &l, run);
    if (!json_is_true(json_object_get(view, "complete")))
        fprintf(out, "not all directories were searched: name one below this one\n");
}

/* ---- CSV ---- */

void inspect_runs_csv(FILE *out, const json_t *view)
{
    static const char *const keys[] = {"name",
                                       "status",
                                       "iteration",
                                       "time_total_s",
                                       "updated",
                                       "attempts",
                                       "workers",
                                       "checkpoints",
                                       "path",
                                       "checkpoint_iteration",
                                       "checkpoint_bytes"};
    json_t *runs = json_object_get(view, "runs"), *names = run_summary_metrics(runs),
           *run, *name;
    size_t i, k;

    for (size_t c = 0; c < sizeof keys / sizeof *keys; c++) {
        if (c > 0)
            csv_next(out);
        csv_text(out, keys[c]);
    }
    json_array_foreach(names, k, name)
    {
        csv_next(out);
        csv_text(out, json_string_value(name));
    }
    csv_end(out);
    json_array_foreach(runs, i, run)
    {
        for (size_t c = 0; c < sizeof keys / sizeof *keys; c++) {
            if (c > 0)
                csv_next(out);
            csv_json(out, json_object_get(run, keys[c]));
        }
        json_array_foreach(names, k, name)
        {
            csv_next(out);
            csv_json(out, json_object_get(json_object_get(run, "metrics"),
                                          json_string_value(name)));
        }
        csv_end(out);
    }
    json_decref(names);
}
