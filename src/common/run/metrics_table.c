/* metrics_table.c - rows of a table, columns of metrics, and reports added to them. */
#include "config.h"

#include "run/metrics_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct report_field report_fields[REPORT_FIELDS] = {
    {"training_iteration", FIELD_INT},
    {"attempt", FIELD_INT},
    {"timestamp", FIELD_INT},
    {"time_total_s", FIELD_DOUBLE},
    {"time_this_iter_s", FIELD_DOUBLE},
    {"data_wait_s", FIELD_DOUBLE},
    {"world_size", FIELD_INT},
    {"checkpoint", FIELD_PRESENT},
    {"checkpoint_bytes", FIELD_INT},
    {"checkpoint_stall_s", FIELD_DOUBLE},
    {"checkpoint_write_s", FIELD_DOUBLE},
};
enum { FIELD_ITERATION = 0, FIELD_ATTEMPT = 1 };

/* Make room for one element more. */
static int grow(void *list, size_t *room, size_t n, size_t size)
{
    void *bigger, *old;

    if (n < *room)
        return 0;
    memcpy(&old, list, sizeof old);
    bigger = reallocarray(old, 2 * n + 16, size);
    if (!bigger)
        return -1;
    memcpy(list, &bigger, sizeof bigger);
    *room = 2 * n + 16;
    return 0;
}

/* ---- Columns ---- */

static double number_or_nan(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const struct metric_number no_number = {NAN, NAN, NAN, NAN};

/* Integers become numbers. */
static int column_convert(struct metric_column *c)
{
    c->numbers = calloc(c->room + 1, sizeof *c->numbers);
    if (!c->numbers)
        return -1;
    for (size_t i = 0; i < c->n; i++) {
        double value = (double)c->integers[i];

        c->numbers[i] = c->integers[i] == METRIC_INT_MISSING
                            ? no_number
                            : (struct metric_number){value, value, value, value};
    }
    free(c->integers);
    c->integers = NULL;
    c->kind = METRIC_NUMBER;
    return 0;
}

static int column_grow(struct metric_column *c)
{
    switch (c->kind) {
    case METRIC_NUMBER:
        return grow(&c->numbers, &c->room, c->n, sizeof *c->numbers);
    case METRIC_INT:
        return grow(&c->integers, &c->room, c->n, sizeof *c->integers);
    case METRIC_TEXT:
    case METRIC_VECTOR:
        break;
    }
    return grow(&c->others, &c->room, c->n, sizeof(json_t *));
}

/* Append a value, which fits the column's kind; NULL: none. by_rank is the metric's
 * object. */
static int column_append(struct metric_column *c, const json_t *value,
                         const json_t *by_rank)
{
    if (column_grow(c) < 0)
        return -1;
    switch (c->kind) {
    case METRIC_NUMBER:
        c->numbers[c->n] = no_number;
        if (by_rank)
            c->numbers[c->n] = (struct metric_number){
                number_or_nan(value), number_or_nan(json_object_get(by_rank, "rank0")),
                number_or_nan(json_object_get(by_rank, "min")),
                number_or_nan(json_object_get(by_rank, "max"))};
        break;
    case METRIC_INT:
        c->integers[c->n] =
            json_is_integer(value) ? json_integer_value(value) : METRIC_INT_MISSING;
        break;
    case METRIC_TEXT:
    case METRIC_VECTOR:
        c->others[c->n] = json_incref((json_t *)(uintptr_t)value);
        break;
    }
    c->n++;
    return 0;
}

static int column_pad(struct metric_column *c, size_t n)
{
    while (c->n < n)
        if (column_append(c, NULL, NULL) < 0)
            return -1;
    return 0;
}

static void column_truncate(struct metric_column *c, size_t n)
{
    for (size_t i = n; c->others && i < c->n; i++)
        json_decref(c->others[i]);
    if (c->n > n)
        c->n = n;
}

/* Metrics that are combined over the ranks have an object with members. */
static enum metric_kind kind_of(const json_t *value, const json_t *by_rank)
{
    return json_is_string(value)                                      ? METRIC_TEXT
           : json_is_array(value)                                     ? METRIC_VECTOR
           : json_is_integer(value) && json_object_size(by_rank) == 0 ? METRIC_INT
                                                                      : METRIC_NUMBER;
}

/* Numbers and integers share a column: with the first number, all become numbers. */
static int kind_settle(struct metric_column *c, enum metric_kind kind)
{
    return c->kind == METRIC_INT && kind == METRIC_NUMBER ? column_convert(c) : 0;
}

/* Takes the metric into the index of its kind. */
static struct metric_column *column_add(struct metrics_table *t, json_t **index,
                                        const char *name, enum metric_kind kind)
{
    struct metric_column *c;

    if (!*index && !(*index = json_object()))
        return NULL;
    if (grow(&t->columns, &t->columns_room, t->n_columns, sizeof *t->columns) < 0)
        return NULL;
    c = &t->columns[t->n_columns];
    *c = (struct metric_column){.name = strdup(name), .kind = kind};
    if (!c->name ||
        json_object_set_new(*index, name, json_integer((json_int_t)t->n_columns)) < 0) {
        free(c->name);
        return NULL;
    }
    t->n_columns++;
    return c;
}

static struct metric_column *column_find(struct metrics_table *t, const char *name,
                                         enum metric_kind kind)
{
    json_t **index = &t->index[kind == METRIC_INT ? METRIC_NUMBER : kind];
    const json_t *at = json_object_get(*index, name);

    return at ? &t->columns[json_integer_value(at)] : column_add(t, index, name, kind);
}

/* The value of a metric in the report of row t->n. */
static int value_add(struct metrics_table *t, const char *name, const json_t *value,
                     const json_t *by_rank)
{
    enum metric_kind kind = kind_of(value, by_rank);
    struct metric_column *c;

    if ((!value || json_is_null(value)) && json_object_size(by_rank) == 0)
        return 0;
    c = column_find(t, name, kind);
    if (!c || kind_settle(c, kind) < 0)
        return -1;
    return column_pad(c, t->n) < 0 ? -1 : column_append(c, value, by_rank);
}

/* ---- Rows ---- */

static union report_cell cell_of(const json_t *report, const struct report_field *field)
{
    const json_t *value = json_object_get(report, field->key);
    union report_cell cell = {0};

    if (field->kind == FIELD_DOUBLE)
        cell.number = number_or_nan(value);
    else if (field->kind == FIELD_PRESENT)
        cell.integer = json_is_string(value);
    else
        cell.integer = json_integer_value(value);
    return cell;
}

/* The rows from n on no longer count. */
static int rows_supersede(struct metrics_table *t, size_t n, int64_t attempt)
{
    for (size_t i = n; i < t->n; i++) {
        if (grow(&t->superseded, &t->superseded_room, t->n_superseded,
                 sizeof *t->superseded) < 0)
            return -1;
        t->superseded[t->n_superseded++] = (struct superseded_report){
            .training_iteration = t->fields[i][FIELD_ITERATION].integer,
            .attempt = t->fields[i][FIELD_ATTEMPT].integer,
            .superseded_by = attempt};
    }
    for (size_t c = 0; c < t->n_columns && n < t->n; c++)
        column_truncate(&t->columns[c], n);
    t->n = n;
    return 0;
}

/* The first row of this iteration or a later one. */
static size_t row_of(const struct metrics_table *t, int64_t iteration)
{
    size_t n = t->n;

    while (n > 0 && t->fields[n - 1][FIELD_ITERATION].integer >= iteration)
        n--;
    return n;
}

int metrics_table_add(struct metrics_table *t, const json_t *report, bool if_missing)
{
    const json_t *at = json_object_get(report, "training_iteration");
    int64_t iteration = json_integer_value(at);
    json_t *by_rank;
    const char *name;
    size_t row;

    if (!json_is_integer(at))
        return 0;
    row = row_of(t, iteration);
    if (if_missing && row < t->n &&
        t->fields[row][FIELD_ITERATION].integer == iteration)
        return 0;
    if (rows_supersede(t, row, json_integer_value(json_object_get(report, "attempt"))) <
            0 ||
        grow(&t->fields, &t->room, t->n, sizeof *t->fields) < 0)
        return -1;
    for (size_t i = 0; i < REPORT_FIELDS; i++)
        t->fields[t->n][i] = cell_of(report, &report_fields[i]);
    json_object_foreach(json_object_get(report, "by_rank"), name, by_rank)
    {
        if (value_add(t, name, json_object_get(report, name), by_rank) < 0)
            return -1;
    }
    t->n++;
    json_decref(t->last);
    t->last = json_incref((json_t *)(uintptr_t)report);
    return 0;
}

void metrics_table_clear(struct metrics_table *t)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        column_truncate(&t->columns[c], 0);
        free(t->columns[c].name);
        free(t->columns[c].numbers);
        free(t->columns[c].integers);
        free(t->columns[c].others);
    }
    free(t->columns);
    free(t->fields);
    free(t->superseded);
    for (size_t i = 0; i < METRIC_KINDS; i++)
        json_decref(t->index[i]);
    json_decref(t->last);
    *t = (struct metrics_table){0};
}
