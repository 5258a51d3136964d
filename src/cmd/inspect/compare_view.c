/*
 * compare_view.c - how several runs compare, as one object: what each is, how their
 * configurations differ, and the last, lowest and highest values of their metrics.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_diff.h"
#include "inspect/output.h"
#include "inspect/run_list.h"
#include "inspect/run_summary.h"
#include "inspect/views.h"
#include "plot/run_labels.h"
#include "run/attempt_config.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "run/run_pulse.h"
#include "util/argv.h"
#include "util/quote.h"

#define FIELD_WORKERS 6 /* world_size, in report_fields */

/* ---- Metrics ---- */

static double value_at(const struct metric_column *c, size_t row)
{
    if (c->kind == METRIC_NUMBER)
        return c->numbers[row].value;
    if (c->kind == METRIC_INT && c->integers[row] != METRIC_INT_MISSING)
        return (double)c->integers[row];
    return NAN;
}

static json_t *cell_number_json(const struct metrics_table *t,
                                const struct metric_column *c, size_t row)
{
    if (row >= t->n || !isfinite(value_at(c, row)))
        return json_null();
    return c->kind == METRIC_INT ? json_integer(c->integers[row])
                                 : json_real(c->numbers[row].value);
}

/* The last, lowest and highest value of a column, with their iterations. */
static json_t *compared_column_json(const struct metrics_table *t,
                                    const struct metric_column *c)
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
    return json_pack("{s:o, s:o, s:I, s:o, s:I}", "last", cell_number_json(t, c, last),
                     "min", cell_number_json(t, c, low), "min_iteration",
                     (json_int_t)t->fields[low][0].integer, "max",
                     cell_number_json(t, c, high), "max_iteration",
                     (json_int_t)t->fields[high][0].integer);
}

static int compared_metrics_set(json_t *run, const char *path, struct error *err)
{
    struct metrics_table table = {0};
    json_t *metrics = json_object(), *kinds = json_array();
    int rc = metrics_load_table(path, &table, err);

    for (size_t i = 0; rc == 0 && i < table.n_columns; i++) {
        const struct metric_column *c = &table.columns[i];
        json_t *one = c->kind == METRIC_NUMBER || c->kind == METRIC_INT
                          ? compared_column_json(&table, c)
                          : NULL;

        if (one)
            json_object_set_new(metrics, c->name, one);
    }
    for (size_t i = 0; rc == 0 && i < table.n; i++)
        run_summary_kinds_add(kinds, table.fields[i][0].integer,
                              table.fields[i][FIELD_WORKERS].integer,
                              table.of_rank0[i]);
    json_object_set_new(run, "metrics_are", kinds);
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

/* Record in `keys`, an object of arrays with a value for each run, how run i differs
 * from the first one. */
static int config_compare(json_t *keys, const char *first, const char *now, size_t i)
{
    struct config_changes changes;

    if (!first || !now || config_diff(first, now, &changes, NULL) < 0)
        return -1;
    for (size_t k = 0; k < changes.n; k++) {
        const struct config_change *c = &changes.list[k];
        json_t *values = json_object_get(keys, c->key);

        if (strcmp(c->key, "run_config.name") == 0)
            continue; /* shown in the head */
        if (!values) {
            values = json_array();
            json_object_set_new(keys, c->key, values);
        }
        while (json_array_size(values) < i)
            json_array_append_new(values, text_or_null(c->before));
        json_array_append_new(values, text_or_null(c->now));
    }
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

/* ---- All of it ---- */

json_t *inspect_compare(const struct run_list *list, struct error *err)
{
    json_t *out = json_object(), *runs = json_array();
    struct run_pulse *pulses = run_pulse_take(list->paths, list->n);
    char **labels = NULL;
    int rc = run_labels(list->paths, list->n, &labels, err);

    json_object_set_new(out, "kind", json_string("compare"));
    json_object_set_new(out, "runs", runs);
    for (size_t i = 0; rc == 0 && i < list->n; i++) {
        json_t *run = run_summary(list->paths[i], pulses && pulses[i].alive);

        json_object_set_new(run, "name", json_text(labels[i]));
        rc = compared_metrics_set(run, list->paths[i], err);
        json_array_append_new(runs, run);
    }
    argv_free(labels);
    free(pulses);
    if (rc < 0) {
        json_decref(out);
        return NULL;
    }
    json_object_set_new(out, "config", config_json(list));
    return out;
}
