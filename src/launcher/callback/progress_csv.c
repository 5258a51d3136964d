/*
 * progress_csv.c - values, columns and rows in memory, the file, which is appended to
 * or replaced, and a rebuild from all reports of a run.
 */
#include "callback/progress_csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/report_number.h"
#include "util/number_text.h"

#define FIRST_COLUMN "training_iteration"
#define BY_RANK      "by_rank"

/* Replacing the file takes at most this share of the time, unless more than this many
 * bytes wait. */
#define REPLACE_SHARE 0.05
#define HELD_BYTES    ((size_t)8 << 20)

struct progress_csv {
    char *run_dir, *path;
    char **names; /* of the columns */
    size_t n_names;
    json_t *index; /* a column's number by its name */
    json_t **row;  /* the values of one report, by column: borrowed */
    bool full;
    int64_t iteration;                      /* of the last row; -1: none */
    /* the last report that progress_csv_rebuild() has read */
    int64_t known_attempt, known_iteration;
    char *text; /* a stream of rows not in the file yet */
    size_t text_bytes;
    FILE *rows;
    int fd;                       /* the file; -1: none */
    size_t columns_in_file;       /* in its header */
    /* when the file was last replaced, and how long that took */
    double replaced, replacing_s;
};

/* ---- Values ---- */

static void field_write(const char *text, FILE *out)
{
    size_t n = strlen(text);

    if (n > 0 && !strpbrk(text, ",\"\r\n") && text[0] != ' ' && text[n - 1] != ' ') {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void real_write(double value, FILE *out)
{
    char text[NUMBER_TEXT];

    if (isnan(value))
        return;
    number_text(text, value);
    fputs(text, out);
}

static int value_write(const json_t *value, FILE *out)
{
    char *text;

    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_NULL:
        return 0;
    case JSON_TRUE:
    case JSON_FALSE:
        fputs(json_is_true(value) ? "true" : "false", out);
        return 0;
    case JSON_INTEGER:
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return 0;
    case JSON_REAL:
        real_write(json_real_value(value), out);
        return 0;
    case JSON_STRING:
        field_write(json_string_value(value), out);
        return 0;
    default:
        break;
    }
    text = json_dumps(value, JSON_COMPACT);
    if (!text)
        return -1;
    field_write(text, out);
    free(text);
    return 0;
}

/* ---- Columns and rows in memory ---- */

static int column_add(struct progress_csv *csv, const char *name)
{
    char *copy = strdup(name);

    if (!copy || json_object_set_new(csv->index, name,
                                     json_integer((json_int_t)csv->n_names)) < 0) {
        free(copy);
        return -1;
    }
    csv->names[csv->n_names++] = copy;
    return 0;
}

/* The column's number; a new column is added if necessary. PROGRESS_CSV_COLUMNS: none
 * is left. -1 without memory. */
static int column_of(struct progress_csv *csv, const char *name)
{
    const json_t *number = json_object_get(csv->index, name);

    if (number)
        return (int)json_integer_value(number);
    if (csv->n_names == PROGRESS_CSV_COLUMNS) {
        csv->full = true;
        return PROGRESS_CSV_COLUMNS;
    }
    return column_add(csv, name) < 0 ? -1 : (int)csv->n_names - 1;
}

static int row_write(struct progress_csv *csv, const json_t *report)
{
    json_t *value;
    const char *name;
    int column;

    memset(csv->row, 0, csv->n_names * sizeof *csv->row);
    json_object_foreach((json_t *)(uintptr_t)report, name, value)
    {
        if (strcmp(name, BY_RANK) == 0 || strcmp(name, METRICS_REPORTED) == 0)
            continue;
        column = column_of(csv, name);
        if (column < 0)
            return -1;
        csv->row[column] = value; /* there is one entry more than columns */
    }
    for (size_t i = 0; i < csv->n_names; i++) {
        if (i > 0)
            putc(',', csv->rows);
        if (json_is_null(csv->row[i]))
            real_write(metric_number(report, csv->names[i]), csv->rows);
        else if (value_write(csv->row[i], csv->rows) < 0)
            return -1;
    }
    putc('\n', csv->rows);
    return 0;
}

static int rows_begin(struct progress_csv *csv)
{
    if (csv->rows)
        fclose(csv->rows);
    free(csv->text);
    csv->text = NULL;
    csv->text_bytes = 0;
    csv->rows = open_memstream(&csv->text, &csv->text_bytes);
    return csv->rows ? 0 : -1;
}

/* ---- Copying rows ---- */

/* Copies rows, padded to the present number of columns, up to the first row of a later
 * iteration than `until`. */
struct copy {
    FILE *out;
    size_t columns;
    int64_t until;
    bool over;
    /* in the present row */
    bool begun, quoted;
    char number[24]; /* its first field, while incomplete */
    size_t n_number, fields;
};

static void number_end(struct copy *copy)
{
    copy->number[copy->n_number] = '\0';
    copy->begun = true;
    copy->over = strtoll(copy->number, NULL, 10) > copy->until;
    if (!copy->over)
        fputs(copy->number, copy->out);
}

static void row_end(struct copy *copy)
{
    for (; copy->fields + 1 < copy->columns; copy->fields++)
        putc_unlocked(',', copy->out);
    putc_unlocked('\n', copy->out);
    copy->fields = copy->n_number = 0;
    copy->begun = false;
}

static void byte_copy(struct copy *copy, int c)
{
    if (!copy->begun) {
        if (c != ',' && c != '\n' && copy->n_number + 1 < sizeof copy->number) {
            copy->number[copy->n_number++] = (char)c;
            return;
        }
        number_end(copy);
        if (copy->over)
            return;
    }
    if (c == '"')
        copy->quoted = !copy->quoted; /* toggled twice by a doubled quotation mark */
    if (c == '\n' && !copy->quoted) {
        row_end(copy);
        return;
    }
    copy->fields += c == ',' && !copy->quoted;
    putc_unlocked(c, copy->out);
}

static void header_write(const struct progress_csv *csv, FILE *out)
{
    for (size_t i = 0; i < csv->n_names; i++) {
        if (i > 0)
            putc(',', out);
        field_write(csv->names[i], out);
    }
    putc('\n', out);
}

/* Skip the header, in which names may be quoted. */
static void header_skip(FILE *in)
{
    bool quoted = false;
    int c;

    while ((c = getc_unlocked(in)) != EOF && (c != '\n' || quoted))
        quoted ^= c == '"';
}

/* Copy the file's rows up to the iteration, and then those in memory. */
static int rows_copy(struct progress_csv *csv, int64_t until, FILE *out,
                     struct error *err)
{
    struct copy copy = {.out = out, .columns = csv->n_names, .until = until};
    FILE *in = csv->fd >= 0 ? fopen(csv->path, "re") : NULL;
    int c, rc = 0;

    if (csv->fd >= 0 && !in)
        return fs_error(err, "open", csv->path);
    if (in) {
        header_skip(in);
        while (!copy.over && (c = getc_unlocked(in)) != EOF)
            byte_copy(&copy, c);
        if (ferror(in))
            rc = fs_error(err, "read", csv->path);
        fclose(in);
    }
    for (size_t i = 0; i < csv->text_bytes && !copy.over; i++)
        byte_copy(&copy, csv->text[i]);
    return rc;
}

/* ---- The file ---- */

static void file_close(struct progress_csv *csv)
{
    if (csv->fd >= 0)
        close(csv->fd);
    csv->fd = -1;
}

/* Write the file as `temp`, and rename it. */
static int file_make(struct progress_csv *csv, const char *temp, int64_t until,
                     struct error *err)
{
    FILE *out = fopen(temp, "wxe");
    int fd;

    if (!out)
        return fs_error(err, "create", csv->path);
    header_write(csv, out);
    if (rows_copy(csv, until, out, err) < 0) {
        fclose(out);
        return -1;
    }
    fd = fflush(out) == 0 && !ferror(out) ? fcntl(fileno(out), F_DUPFD_CLOEXEC, 0) : -1;
    if (fclose(out) != 0 || fd < 0 || rename(temp, csv->path) < 0) {
        fs_error(err, "write", csv->path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    file_close(csv);
    csv->fd = fd;
    csv->columns_in_file = csv->n_names;
    return rows_begin(csv) < 0 ? error_no_memory(err) : 0;
}

/* A new file, with the rows up to this iteration. */
static int file_replace(struct progress_csv *csv, int64_t until, struct error *err)
{
    double began = clock_now();
    char *temp = fs_temp_name(csv->path);
    int rc;

    if (!temp || fflush(csv->rows) != 0) {
        free(temp);
        return error_no_memory(err);
    }
    rc = file_make(csv, temp, until, err);
    if (rc < 0)
        unlink(temp);
    free(temp);
    csv->replaced = clock_now();
    csv->replacing_s = csv->replaced - began;
    return rc;
}

static int file_append(struct progress_csv *csv, struct error *err)
{
    off_t end = lseek(csv->fd, 0, SEEK_END);

    if (end < 0 || fs_write_full(csv->fd, csv->text, csv->text_bytes) < 0) {
        fs_error(err, "write", csv->path);
        if (end >= 0 && ftruncate(csv->fd, end) < 0)
            return -1; /* a partial row stays: the file is rebuilt later */
        return -1;
    }
    return rows_begin(csv) < 0 ? error_no_memory(err) : 0;
}

int progress_csv_flush(struct progress_csv *csv, bool all, struct error *err)
{
    if (fflush(csv->rows) != 0)
        return error_no_memory(err);
    if (csv->text_bytes == 0)
        return 0;
    if (csv->fd >= 0 && csv->columns_in_file == csv->n_names)
        return file_append(csv, err);
    if (!all && csv->fd >= 0 && csv->text_bytes < HELD_BYTES &&
        clock_now() - csv->replaced < csv->replacing_s / REPLACE_SHARE)
        return 0;
    return file_replace(csv, INT64_MAX, err);
}

/* ---- Reports ---- */

static int64_t integer_of(const json_t *report, const char *key)
{
    return json_integer_value(json_object_get(report, key));
}

static bool is_known(const struct progress_csv *csv, const json_t *report)
{
    int64_t attempt = integer_of(report, "attempt");

    return attempt < csv->known_attempt ||
           (attempt == csv->known_attempt &&
            integer_of(report, FIRST_COLUMN) <= csv->known_iteration);
}

int progress_csv_add(struct progress_csv *csv, const json_t *report, struct error *err)
{
    int64_t iteration = integer_of(report, FIRST_COLUMN);

    if (!json_is_integer(json_object_get(report, FIRST_COLUMN)) ||
        is_known(csv, report))
        return 0;
    if (iteration <= csv->iteration && file_replace(csv, iteration - 1, err) < 0)
        return -1;
    if (row_write(csv, report) < 0)
        return error_no_memory(err);
    csv->iteration = iteration;
    return 0;
}

bool progress_csv_is_full(const struct progress_csv *csv)
{
    return csv->full;
}

/* ---- All reports of a run ---- */

struct rebuild {
    struct progress_csv *csv;
    struct error *err;
    int rc;
    int64_t attempt, iteration; /* of the last one */
};

static void csv_row_add(void *arg, const json_t *report)
{
    struct rebuild *r = arg;

    if (r->rc == 0)
        r->rc = progress_csv_add(r->csv, report, r->err);
    if (r->rc == 0 && ftell(r->csv->rows) > (long)HELD_BYTES)
        r->rc = progress_csv_flush(r->csv, false, r->err);
    r->attempt = integer_of(report, "attempt");
    r->iteration = integer_of(report, FIRST_COLUMN);
}

/* Write a file with a temporary name, which then replaces the file. */
static int rebuild_as(struct progress_csv *csv, struct rebuild *r, char *temp,
                      struct error *err)
{
    char *path = csv->path;
    int rc;

    csv->path = temp;
    rc = metrics_each(csv->run_dir, csv_row_add, r, err);
    if (rc == 0)
        rc = r->rc;
    if (rc == 0)
        rc = progress_csv_flush(csv, true, err);
    if (rc == 0 && csv->fd >= 0 && rename(temp, path) < 0)
        rc = fs_error(err, "write", path);
    if (rc < 0 && csv->fd >= 0)
        unlink(temp);
    csv->path = path;
    return rc;
}

int progress_csv_rebuild(struct progress_csv *csv, struct error *err)
{
    struct rebuild r = {.csv = csv, .err = err, .attempt = -1, .iteration = -1};
    char *temp = fs_temp_name(csv->path);
    int rc = -1;

    file_close(csv);
    csv->iteration = csv->known_iteration = csv->known_attempt = -1;
    fs_remove_temps(csv->path);
    if (!temp || rows_begin(csv) < 0)
        error_no_memory(err);
    else
        rc = rebuild_as(csv, &r, temp, err);
    free(temp);
    if (rc == 0) {
        csv->known_attempt = r.attempt;
        csv->known_iteration = r.iteration;
    }
    return rc;
}

/* ---- New and free ---- */

struct progress_csv *progress_csv_new(const char *run_dir)
{
    struct progress_csv *csv = calloc(1, sizeof *csv);

    if (!csv)
        return NULL;
    csv->fd = -1;
    csv->iteration = csv->known_iteration = csv->known_attempt = -1;
    csv->run_dir = strdup(run_dir);
    csv->path = run_dir_file(run_dir, PROGRESS_CSV);
    csv->index = json_object();
    csv->names = calloc(PROGRESS_CSV_COLUMNS, sizeof *csv->names);
    csv->row = calloc(PROGRESS_CSV_COLUMNS + 1, sizeof *csv->row);
    if (csv->run_dir && csv->path && csv->index && csv->names && csv->row &&
        rows_begin(csv) == 0 && column_add(csv, FIRST_COLUMN) == 0)
        return csv;
    progress_csv_free(csv);
    return NULL;
}

void progress_csv_free(struct progress_csv *csv)
{
    if (!csv)
        return;
    file_close(csv);
    if (csv->rows)
        fclose(csv->rows);
    for (size_t i = 0; i < csv->n_names; i++)
        free(csv->names[i]);
    free(csv->names);
    free(csv->row);
    free(csv->text);
    json_decref(csv->index);
    free(csv->run_dir);
    free(csv->path);
    free(csv);
}
