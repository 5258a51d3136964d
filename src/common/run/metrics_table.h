/*
 * metrics_table.h - the reports of a run that count, as columns: what a million reports
 * need is a few numbers each, not a JSON object.
 */
#ifndef RAYTRAIN_RUN_METRICS_TABLE_H
#define RAYTRAIN_RUN_METRICS_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/report_scan.h"

/* The keys that every report has, as far as they are numbers. */
enum report_field_kind { FIELD_INT, FIELD_DOUBLE, FIELD_PRESENT };
struct report_field {
    const char *key;
    enum report_field_kind kind; /* FIELD_PRESENT: 1 if the value is a string, else 0 */
};
#define REPORT_FIELDS 11
extern const struct report_field report_fields[REPORT_FIELDS];

union report_cell {
    int64_t integer;
    double number; /* FIELD_DOUBLE; NaN: none */
};

enum metric_kind { METRIC_NUMBER, METRIC_INT, METRIC_TEXT, METRIC_VECTOR };
#define METRIC_KINDS 4

/* The value in the report, which is rank 0's or the mean; the mean over the ranks, the
 * number of rank 0, and the extremes; NaN: none. */
struct metric_number {
    double value, mean, rank0, min, max;
};

/* A value of METRIC_INT that is missing. */
#define METRIC_INT_MISSING INT64_MIN

/* The values of one kind that a metric has in the first n reports; later ones have none.
 * A metric that is a number in some reports and a text or a vector in others has several
 * columns of its name. Integers become numbers with the first number. */
struct metric_column {
    char *name;
    enum metric_kind kind;
    bool of_rank0; /* METRIC_NUMBER: some values are rank 0's, not the means */
    size_t n, room;
    struct metric_number *numbers;
    int64_t *integers;
    json_t **others; /* METRIC_TEXT, METRIC_VECTOR: strings or arrays; NULL: none */
};

/* A report that a later one has replaced. */
struct superseded_report {
    int64_t training_iteration, attempt, superseded_by; /* an attempt */
};

struct metrics_table {
    size_t n, room; /* reports that count */
    bool *of_rank0; /* of each: its metrics are rank 0's values, not means */
    size_t of_rank0_room;
    union report_cell (*fields)[REPORT_FIELDS];
    struct metric_column *columns; /* in the order in which they first appear */
    size_t n_columns, columns_room;
    json_t *index[METRIC_KINDS]; /* a column's number by name; integers are numbers */
    struct superseded_report *superseded;
    size_t n_superseded, superseded_room;
    /* If it is set: called before the rows from `from` on are replaced, and forgotten. */
    void (*on_supersede)(void *arg, const struct metrics_table *t, size_t from);
    void *on_supersede_arg;
    char *last; /* the line of the last report; NULL: there is none */
    size_t last_room;
    /* While a report is added: its values are those of rank 0; its members. */
    bool keeps_rank0;
    struct report_members report, by_rank, of_metric;
};

/* Add a report, whose line is line[0..n), with a NUL after it; lines that are not
 * reports are skipped. It replaces those of its iteration and later ones, since its
 * attempt went back to an older checkpoint. With METRICS_IF_MISSING: unless there is one
 * of its iteration. -1 without memory. */
int metrics_table_add(struct metrics_table *t, const char *line, size_t n);
/* The last report, a new object; NULL: there is none, or no memory. */
json_t *metrics_table_last(const struct metrics_table *t);
void metrics_table_clear(struct metrics_table *t);

#endif
