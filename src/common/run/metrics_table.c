/* metrics_table.c - rows of a table, columns of metrics, and lines of reports added to
 * them. */
#include "config.h"

#include "run/metrics_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/metrics_lines.h"
#include "util/report_number.h"
#include "util/array.h"

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

/* ---- Values ---- */

static bool is_number(const struct report_member *m)
{
    return *m->value == '-' || (*m->value >= '0' && *m->value <= '9');
}

static bool is_integer(const struct report_member *m)
{
    return is_number(m) && strspn(m->value, "-0123456789") >= m->value_n;
}

static bool value_is_word(const struct report_member *m, const char *quoted)
{
    return m->value_n == strlen(quoted) && memcmp(m->value, quoted, m->value_n) == 0;
}

static double member_or_nan(const struct report_member *m)
{
    if (m && is_number(m))
        return strtod(m->value, NULL);
    if (m && value_is_word(m, "\"" METRIC_INFINITY "\""))
        return INFINITY;
    return m && value_is_word(m, "\"-" METRIC_INFINITY "\"") ? -INFINITY : NAN;
}

static double number_named(const struct report_members *all, const char *key,
                           size_t *at)
{
    return member_or_nan(report_members_find(all, key, strlen(key), at));
}

static json_t *json_of(const struct report_member *m)
{
    return json_loadb(m->value, m->value_n, JSON_DECODE_ANY, NULL);
}

/* ---- Columns ---- */

static const struct metric_number no_number = {NAN, NAN, NAN, NAN, NAN};

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
                            : (struct metric_number){value, value, value, value, value};
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
        return array_grow(&c->numbers, &c->room, c->n, sizeof *c->numbers);
    case METRIC_INT:
        return array_grow(&c->integers, &c->room, c->n, sizeof *c->integers);
    case METRIC_TEXT:
    case METRIC_VECTOR:
        break;
    }
    return array_grow(&c->others, &c->room, c->n, sizeof(json_t *));
}

/* The numbers of the ranks for a metric, whose members are in of_metric. */
static struct metric_number metric_number_read(const struct report_member *value,
                                               const struct report_members *of_metric,
                                               bool of_rank0)
{
    size_t at = 0;
    struct metric_number number = {.value = member_or_nan(value)};

    number.rank0 = number_named(of_metric, "rank0", &at);
    number.min = number_named(of_metric, "min", &at);
    number.max = number_named(of_metric, "max", &at);
    number.mean = isnan(number.value) || of_rank0 ? number_named(of_metric, "mean", &at)
                                                  : number.value;
    if (isnan(number.value))
        number.value = of_rank0 ? number.rank0 : number.mean;
    return number;
}

/* Append a value, which fits the column's kind; NULL: none. of_metric: NULL if there is
 * no such metric in the report. of_rank0: a number is rank 0's. */
static int column_append(struct metric_column *c, const struct report_member *value,
                         const struct report_members *of_metric, bool of_rank0)
{
    if (column_grow(c) < 0)
        return -1;
    switch (c->kind) {
    case METRIC_NUMBER:
        c->numbers[c->n] =
            of_metric ? metric_number_read(value, of_metric, of_rank0) : no_number;
        c->of_rank0 = c->of_rank0 || of_rank0;
        break;
    case METRIC_INT:
        c->integers[c->n] = value && is_integer(value) ? strtoll(value->value, NULL, 10)
                                                       : METRIC_INT_MISSING;
        break;
    case METRIC_TEXT:
    case METRIC_VECTOR:
        c->others[c->n] = value ? json_of(value) : NULL;
        break;
    }
    c->n++;
    return 0;
}

static int column_pad(struct metric_column *c, size_t n)
{
    while (c->n < n)
        if (column_append(c, NULL, NULL, false) < 0)
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
static enum metric_kind metric_kind_of(const struct report_member *value,
                                       const struct report_members *of_metric)
{
    return !value                                   ? METRIC_NUMBER
           : *value->value == '"'                   ? METRIC_TEXT
           : *value->value == '['                   ? METRIC_VECTOR
           : is_integer(value) && of_metric->n == 0 ? METRIC_INT
                                                    : METRIC_NUMBER;
}

/* Numbers and integers share a column: with the first number, all become numbers. */
static int kind_settle(struct metric_column *c, enum metric_kind kind)
{
    return c->kind == METRIC_INT && kind == METRIC_NUMBER ? column_convert(c) : 0;
}

/* Takes the metric into the index of its kind. */
static struct metric_column *metric_column_add(struct metrics_table *t, json_t **index,
                                               const char *name, enum metric_kind kind)
{
    struct metric_column *c;

    if (!*index && !(*index = json_object()))
        return NULL;
    if (array_grow(&t->columns, &t->columns_room, t->n_columns, sizeof *t->columns) < 0)
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

static bool is_named(const struct metric_column *c, const char *name, size_t n)
{
    return strncmp(c->name, name, n) == 0 && c->name[n] == '\0';
}

/* Integers are in the columns of numbers. */
static bool is_kind(const struct metric_column *c, enum metric_kind kind)
{
    return c->kind == kind || (c->kind == METRIC_INT && kind == METRIC_NUMBER) ||
           (c->kind == METRIC_NUMBER && kind == METRIC_INT);
}

static struct metric_column *column_look_up(struct metrics_table *t, const char *name,
                                            enum metric_kind kind)
{
    json_t **index = &t->index[kind == METRIC_INT ? METRIC_NUMBER : kind];
    const json_t *at = json_object_get(*index, name);

    return at ? &t->columns[json_integer_value(at)]
              : metric_column_add(t, index, name, kind);
}

static bool is_escaped(const struct report_member *m)
{
    return memchr(m->key, '\\', m->key_n) != NULL;
}

/* Names of ours have nothing to escape; result.json may have been written by another
 * program. NULL without memory. */
static char *name_of(const struct report_member *m)
{
    json_t *text;
    char *name;

    if (!is_escaped(m))
        return strndup(m->key, m->key_n);
    text = json_loadb(m->key - 1, m->key_n + 2, JSON_DECODE_ANY, NULL);
    name = text ? strdup(json_string_value(text)) : strndup(m->key, m->key_n);
    json_decref(text);
    return name;
}

/* Reports mostly have the same metrics in the same order: *at is where the column is
 * expected, and becomes the place after it. */
static struct metric_column *metric_column_find(struct metrics_table *t,
                                                const struct report_member *metric,
                                                enum metric_kind kind, size_t *at)
{
    struct metric_column *c = *at < t->n_columns ? &t->columns[*at] : NULL;
    char *name;

    if (!c || !is_kind(c, kind) || is_escaped(metric) ||
        !is_named(c, metric->key, metric->key_n)) {
        name = name_of(metric);
        c = name ? column_look_up(t, name, kind) : NULL;
        free(name);
    }
    if (c)
        *at = (size_t)(c - t->columns) + 1;
    return c;
}

/* A vector with infinities is among the values of ranks; the report has null for them. */
static const struct report_member *vector_of(const struct metrics_table *t,
                                             const struct report_member *value)
{
    size_t at = 0;
    const struct report_member *whole =
        report_members_find(&t->of_metric, "rank0", strlen("rank0"), &at);

    return whole && *whole->value == '[' ? whole : value;
}

/* Else it is a figure that is always a mean. */
static bool has_mean(const struct report_members *of_metric)
{
    size_t at = 0;

    return report_members_find(of_metric, "mean", strlen("mean"), &at) != NULL;
}

/* The value of a metric in the report of row t->n; *at as above. */
static int value_add(struct metrics_table *t, const struct report_member *metric,
                     const struct report_member *value, size_t *at)
{
    bool of_rank0;
    enum metric_kind kind;
    struct metric_column *c;

    if (!report_members_read(&t->of_metric, metric->value, metric->value_n))
        return t->of_metric.no_memory ? -1 : 0;
    kind = metric_kind_of(value, &t->of_metric);
    if ((!value || *value->value == 'n') && t->of_metric.n == 0)
        return 0;
    if (kind == METRIC_VECTOR)
        value = vector_of(t, value);
    c = metric_column_find(t, metric, kind, at);
    if (!c || kind_settle(c, kind) < 0)
        return -1;
    of_rank0 = t->keeps_rank0 && has_mean(&t->of_metric);
    return column_pad(c, t->n) < 0 ? -1
                                   : column_append(c, value, &t->of_metric, of_rank0);
}

static int values_add(struct metrics_table *t)
{
    size_t value_at = 0, column_at = 0;

    for (size_t i = 0; i < t->by_rank.n; i++) {
        const struct report_member *metric = &t->by_rank.list[i];
        const struct report_member *value =
            report_members_find(&t->report, metric->key, metric->key_n, &value_at);

        if (value_add(t, metric, value, &column_at) < 0)
            return -1;
    }
    return 0;
}

/* ---- Rows ---- */

static int64_t integer_or_0(const struct report_member *m)
{
    return m && is_integer(m) ? strtoll(m->value, NULL, 10) : 0;
}

static union report_cell cell_of(const struct report_member *value,
                                 enum report_field_kind kind)
{
    union report_cell cell = {0};

    if (kind == FIELD_DOUBLE)
        cell.number = member_or_nan(value);
    else if (kind == FIELD_PRESENT)
        cell.integer = value && *value->value == '"';
    else
        cell.integer = integer_or_0(value);
    return cell;
}

static const struct report_member *member(const struct metrics_table *t,
                                          const char *key)
{
    size_t at = 0;

    return report_members_find(&t->report, key, strlen(key), &at);
}

static void fields_fill(struct metrics_table *t)
{
    for (size_t i = 0; i < REPORT_FIELDS; i++)
        t->fields[t->n][i] =
            cell_of(member(t, report_fields[i].key), report_fields[i].kind);
}

/* The rows from n on no longer count. */
static int rows_supersede(struct metrics_table *t, size_t n, int64_t attempt)
{
    if (n < t->n && t->on_supersede)
        t->on_supersede(t->on_supersede_arg, t, n);
    for (size_t i = n; i < t->n; i++) {
        if (array_grow(&t->superseded, &t->superseded_room, t->n_superseded,
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

/* Make room for the report that has been read. 1: done; 0: it is there already. */
static int row_make(struct metrics_table *t)
{
    int64_t iteration = integer_or_0(member(t, "training_iteration"));
    size_t row = row_of(t, iteration);

    if (row < t->n && t->fields[row][FIELD_ITERATION].integer == iteration &&
        member(t, METRICS_IF_MISSING))
        return 0;
    if (rows_supersede(t, row, integer_or_0(member(t, "attempt"))) < 0 ||
        array_grow(&t->fields, &t->room, t->n, sizeof *t->fields) < 0 ||
        array_grow(&t->of_rank0, &t->of_rank0_room, t->n, sizeof *t->of_rank0) < 0)
        return -1;
    return 1;
}

static int last_keep(struct metrics_table *t, const char *line, size_t n)
{
    if (n >= t->last_room) {
        char *more = realloc(t->last, 2 * n + 1);

        if (!more)
            return -1;
        t->last = more;
        t->last_room = 2 * n + 1;
    }
    memcpy(t->last, line, n + 1);
    return 0;
}

int metrics_table_add(struct metrics_table *t, const char *line, size_t n)
{
    const struct report_member *iteration, *by_rank;
    int rc;

    if (!report_members_read(&t->report, line, n))
        return t->report.no_memory ? -1 : 0;
    iteration = member(t, "training_iteration");
    if (!iteration || !is_integer(iteration))
        return 0;
    rc = row_make(t);
    if (rc <= 0)
        return rc;
    fields_fill(t);
    t->keeps_rank0 = member(t, METRICS_REPORTED) != NULL;
    t->of_rank0[t->n] = t->keeps_rank0;
    by_rank = member(t, "by_rank");
    if (by_rank && report_members_read(&t->by_rank, by_rank->value, by_rank->value_n)) {
        if (values_add(t) < 0)
            return -1;
    } else if (by_rank && t->by_rank.no_memory) {
        return -1;
    }
    t->n++;
    return last_keep(t, line, n);
}

json_t *metrics_table_last(const struct metrics_table *t)
{
    json_t *last = t->last ? json_loads(t->last, 0, NULL) : NULL;

    json_object_del(last, METRICS_IF_MISSING);
    return last;
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
    free(t->of_rank0);
    free(t->superseded);
    for (size_t i = 0; i < METRIC_KINDS; i++)
        json_decref(t->index[i]);
    free(t->last);
    report_members_clear(&t->report);
    report_members_clear(&t->by_rank);
    report_members_clear(&t->of_metric);
    *t = (struct metrics_table){0};
}
