/*
 * reports_csv.c - the reports of a run that count, as CSV: the keys that every report
 * has, and the value of each metric.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/csv_output.h"
#include "inspect/views.h"
#include "run/metrics.h"

/* A metric that is a number in some reports and a text in others has several columns in
 * the table, but one here. */
static bool is_first(const struct metrics_table *t, size_t column)
{
    for (size_t c = 0; c < column; c++)
        if (strcmp(t->columns[c].name, t->columns[column].name) == 0)
            return false;
    return true;
}

static void head_print(FILE *out, const struct metrics_table *t)
{
    for (size_t i = 0; i < REPORT_FIELDS; i++) {
        if (i > 0)
            csv_next(out);
        csv_text(out, report_fields[i].key);
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        if (!is_first(t, c))
            continue;
        csv_next(out);
        csv_text(out, t->columns[c].name);
    }
    csv_end(out);
}

static void metric_print(FILE *out, const struct metric_column *c, size_t row)
{
    if (row >= c->n)
        return;
    switch (c->kind) {
    case METRIC_NUMBER:
        csv_number(out, c->numbers[row].value);
        break;
    case METRIC_INT:
        if (c->integers[row] != METRIC_INT_MISSING)
            fprintf(out, "%" PRId64, c->integers[row]);
        break;
    case METRIC_TEXT:
    case METRIC_VECTOR:
        csv_json(out, c->others[row]);
        break;
    }
}

/* firsts: is_first() of each column. */
static void row_print(FILE *out, const struct metrics_table *t, const bool *firsts,
                      size_t row)
{
    for (size_t i = 0; i < REPORT_FIELDS; i++) {
        if (i > 0)
            csv_next(out);
        if (report_fields[i].kind == FIELD_DOUBLE)
            csv_number(out, t->fields[row][i].number);
        else
            fprintf(out, "%" PRId64, t->fields[row][i].integer);
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        if (!firsts[c])
            continue;
        csv_next(out);
        metric_print(out, &t->columns[c], row);
        for (size_t k = c + 1; k < t->n_columns; k++)
            if (!firsts[k] && strcmp(t->columns[k].name, t->columns[c].name) == 0)
                metric_print(out, &t->columns[k], row);
    }
    csv_end(out);
}

int reports_csv_print(FILE *out, const char *run, struct error *err)
{
    struct metrics_table table = {0};
    int rc = metrics_load_table(run, &table, err);
    bool *firsts = calloc(table.n_columns + 1, sizeof *firsts);

    if (rc == 0 && !firsts)
        rc = error_no_memory(err);
    if (rc == 0) {
        head_print(out, &table);
        for (size_t c = 0; c < table.n_columns; c++)
            firsts[c] = is_first(&table, c);
        for (size_t row = 0; row < table.n; row++)
            row_print(out, &table, firsts, row);
    }
    free(firsts);
    metrics_table_clear(&table);
    return rc;
}
