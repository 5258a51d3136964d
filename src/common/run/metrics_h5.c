/*
 * metrics_h5.c - result.h5: the reports that count and the Result, as HDF5.
 *
 *   /metrics/NAME                    the values, one double per report, NaN if it did
 *                                    not have the metric; or exact integers
 *   /metrics_rank0, _min, _max/NAME  the same of rank 0, and over ranks
 *   /metrics_mean/NAME               the means, if some values are those of rank 0
 *   /metrics_text/NAME               texts
 *   /metrics_vector/NAME             vectors, one row per report
 *   /reports, /superseded, /attempts tables
 *   attributes of /                  the Result
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "checkpoint/name_map.h"
#include "hdf5/h5.h"
#include "hdf5/h5_image.h"
#include "run/metrics.h"
#include "util/fs.h"
#include "util/report_number.h"
#include "util/run_record.h"

/* Texts and vectors that need more bytes are in result.json alone. */
#define DATASET_MAX ((size_t)1 << 30)

#define RESULT_FORMAT  "raytrain-result"
#define RESULT_VERSION 1
#define RESULT_MAGIC   "raytrain\r\n\x1a\nrslt" /* 16 bytes, no NUL */

/* The user block before the HDF5 file: a reader learns the status, and whether the file
 * is whole, without HDF5. */
struct result_head {
    char magic[16];
    uint32_t version;
    uint32_t head_bytes;
    uint64_t file_bytes;
    uint64_t body_hash; /* XXH3-64 of all after the head */
    char status[32];
    char text[432];
    uint64_t head_hash; /* XXH3-64 of the head before this field */
};
static_assert(sizeof(struct result_head) == 512, "the head fills the user block");

static double number_or_nan(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int64_t integer_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_boolean(value))
        return json_is_true(value);
    return json_is_real(value) ? (int64_t)json_real_value(value)
                               : json_integer_value(value);
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* ---- Metrics ---- */

/* Would HDF5 take the name for another path? */
static bool name_is_odd(const char *name)
{
    size_t n = strlen(name);

    return n == 0 || name[0] == '/' || name[n - 1] == '/' || strstr(name, "//") ||
           strstr(name, "/./") || strstr(name, "/../") ||
           (n > 2 && strcmp(name + n - 2, "/.") == 0) ||
           (n > 3 && strcmp(name + n - 3, "/..") == 0);
}

/* A metric's HDF5 name: its name, but with ':' for '/' if that is not a possible path
 * (if there are both "loss" and "loss/x"). Names of metrics hold no ':'. NULL without
 * memory. */
static json_t *metric_path(const char *name, struct name_map *paths)
{
    char *path = strdup(name);
    json_t *value = NULL;
    size_t clash;

    if (path && (name_is_odd(name) || name_map_add(paths, name, 0, &clash) != 0))
        for (char *c = path; *c; c++)
            *c = *c == '/' ? ':' : *c;
    if (path)
        value = json_string(path);
    free(path);
    return value;
}

/* A group of metrics, and how datasets are created, which is decided once: a report may
 * have a hundred thousand metrics. */
struct place {
    const struct h5_creation *how;
    hid_t group;
};

static int dataset(const struct place *to, const char *name, hid_t type, int ndim,
                   const hsize_t *shape, const void *data)
{
    return h5_dataset_create(to->how, to->group, name, type, ndim, shape, data, NULL);
}

/* One number of a metric in each report. `which` is its offset in struct metric_number. */
static int numbers_write(const struct place *to, const char *name,
                         const struct metric_column *c, size_t n, size_t which)
{
    hsize_t shape = n;
    double *values = malloc((n + 1) * sizeof *values);
    int rc;

    if (!values)
        return -1;
    for (size_t i = 0; i < n; i++) {
        values[i] = NAN;
        if (i < c->n && c->numbers)
            memcpy(&values[i], (const char *)&c->numbers[i] + which, sizeof values[i]);
    }
    rc = dataset(to, name, H5T_IEEE_F64LE, 1, &shape, values);
    free(values);
    return rc;
}

static int integers_write(const struct place *to, const char *name,
                          const struct metric_column *c, size_t n)
{
    hsize_t shape = n;
    int64_t *values = malloc((n + 1) * sizeof *values);
    int rc;

    if (!values)
        return -1;
    for (size_t i = 0; i < n; i++)
        values[i] = i < c->n ? c->integers[i] : METRIC_INT_MISSING;
    rc = dataset(to, name, H5T_NATIVE_INT64, 1, &shape, values);
    free(values);
    return rc;
}

static const char *text_at(const struct metric_column *c, size_t i)
{
    const char *text = i < c->n ? json_string_value(c->others[i]) : NULL;

    return text ? text : "";
}

static int cells_write(const struct place *to, const char *name, hid_t type, int ndim,
                       const hsize_t *shape, const void *cells)
{
    return type < 0 || !cells ? -1 : dataset(to, name, type, ndim, shape, cells);
}

/* Fixed strings, as wide as the longest one. */
static int texts_write(const struct place *to, const char *name,
                       const struct metric_column *c, size_t n)
{
    hsize_t shape = n;
    size_t width = 8;
    hid_t type;
    char *cells;
    int rc;

    for (size_t i = 0; i < n; i++)
        if (strlen(text_at(c, i)) + 1 > width)
            width = strlen(text_at(c, i)) + 1;
    if (n * width > DATASET_MAX)
        return 0;
    cells = calloc(n + 1, width);
    type = h5_string_type(width);
    for (size_t i = 0; cells && i < n; i++)
        strcpy(cells + i * width, text_at(c, i));
    rc = cells_write(to, name, type, 1, &shape, cells);
    if (type >= 0)
        H5Tclose(type);
    free(cells);
    return rc;
}

static size_t vector_length(const struct metric_column *c, size_t i)
{
    return i < c->n ? json_array_size(c->others[i]) : 0;
}

/* A row for each report, as long as the longest one. */
static int vectors_write(const struct place *to, const char *name,
                         const struct metric_column *c, size_t n)
{
    hsize_t shape[2] = {n, 1};
    double *cells;
    int rc;

    for (size_t i = 0; i < n; i++)
        if (vector_length(c, i) > shape[1])
            shape[1] = vector_length(c, i);
    if (n * shape[1] * sizeof *cells > DATASET_MAX)
        return 0;
    cells = calloc(n + 1, shape[1] * sizeof *cells);
    for (size_t i = 0; cells && i < n; i++)
        for (size_t k = 0; k < shape[1]; k++)
            cells[i * shape[1] + k] =
                k < vector_length(c, i) ? metric_value(json_array_get(c->others[i], k))
                                        : NAN;
    rc = cells_write(to, name, H5T_IEEE_F64LE, 2, shape, cells);
    free(cells);
    return rc;
}

enum {
    GROUP_VALUE,
    GROUP_RANK0,
    GROUP_MIN,
    GROUP_MAX,
    GROUP_MEAN,
    GROUP_TEXT,
    GROUP_VECTOR,
    GROUPS
};
static const char *const groups[GROUPS] = {
    "metrics",      "metrics_rank0", "metrics_min",   "metrics_max",
    "metrics_mean", "metrics_text",  "metrics_vector"};

static int column_write(const struct place *to, int group, const char *name,
                        const struct metric_column *c, size_t n)
{
    static const size_t which[] = {
        offsetof(struct metric_number, value), offsetof(struct metric_number, rank0),
        offsetof(struct metric_number, min), offsetof(struct metric_number, max),
        offsetof(struct metric_number, mean)};

    switch (c->kind) {
    case METRIC_NUMBER:
        if (group > GROUP_MEAN || (group == GROUP_MEAN && !c->of_rank0))
            return 0;
        return numbers_write(to, name, c, n, which[group]);
    case METRIC_INT:
        return group == GROUP_VALUE ? integers_write(to, name, c, n) : 0;
    case METRIC_TEXT:
        return group == GROUP_TEXT ? texts_write(to, name, c, n) : 0;
    case METRIC_VECTOR:
        break;
    }
    return group == GROUP_VECTOR ? vectors_write(to, name, c, n) : 0;
}

/* A run without reports has the groups, too. */
static int group_write(hid_t file, const struct h5_creation *how, int group,
                       const struct metrics_table *reports, const json_t *paths)
{
    struct place to = {
        how, H5Gcreate2(file, groups[group], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)};
    int rc = to.group < 0 ? -1 : 0;

    for (size_t i = 0; rc == 0 && i < reports->n_columns; i++)
        rc = column_write(&to, group, json_string_value(json_array_get(paths, i)),
                          &reports->columns[i], reports->n);
    if (to.group >= 0 && H5Gclose(to.group) < 0)
        rc = -1;
    return rc;
}

/* The HDF5 names of the columns: columns of one metric have the same, in different
 * groups. NULL without memory. */
static json_t *column_paths(const struct metrics_table *reports)
{
    json_t *paths = json_array(), *of_names = json_object();
    struct name_map taken = {0};
    int rc = paths && of_names ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < reports->n_columns; i++) {
        const char *name = reports->columns[i].name;

        if (!json_object_get(of_names, name))
            rc = json_object_set_new(of_names, name, metric_path(name, &taken));
        if (rc == 0)
            rc = json_array_append(paths, json_object_get(of_names, name));
    }
    if (rc < 0) {
        json_decref(paths);
        paths = NULL;
    }
    json_decref(of_names);
    name_map_clear(&taken);
    return paths;
}

static int all_metrics_write(hid_t file, const struct metrics_table *reports)
{
    json_t *paths = column_paths(reports);
    struct h5_creation how;
    int rc = -1;

    if (paths && h5_creation_open(&how) == 0) {
        rc = 0;
        for (int group = 0; rc == 0 && group < GROUPS; group++)
            rc = group_write(file, &how, group, reports, paths);
        h5_creation_close(&how);
    }
    json_decref(paths);
    return rc;
}

/* ---- Tables ---- */

enum cell_kind { CELL_INT, CELL_DOUBLE, CELL_STRING };

/* A column of a table: a key of each row's object. */
struct column {
    const char *key;
    enum cell_kind kind;
    size_t offset, width;
};

/* Nodes and other lists, as text. */
static char *cell_text(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    if (!value || json_is_null(value))
        return strdup("");
    if (json_is_string(value))
        return strdup(json_string_value(value));
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static int columns_place(struct column *columns, size_t n, const json_t *rows,
                         size_t *row_bytes)
{
    *row_bytes = 0;
    for (size_t c = 0; c < n; c++) {
        const json_t *row;
        size_t i;

        columns[c].offset = *row_bytes;
        columns[c].width = 8;
        json_array_foreach((json_t *)rows, i, row)
        {
            char *text;

            if (columns[c].kind != CELL_STRING)
                break;
            text = cell_text(row, columns[c].key);
            if (!text)
                return -1;
            if (strlen(text) + 1 > columns[c].width)
                columns[c].width = (strlen(text) + 8) / 8 * 8;
            free(text);
        }
        *row_bytes += columns[c].width;
    }
    return 0;
}

static int cell_fill(unsigned char *at, const struct column *c, const json_t *row)
{
    const json_t *value = json_object_get(row, c->key);
    double number = number_or_nan(value);
    int64_t integer = integer_of(row, c->key);
    char *text;

    if (c->kind == CELL_DOUBLE) {
        memcpy(at, &number, sizeof number);
    } else if (c->kind == CELL_STRING) {
        text = cell_text(row, c->key);
        if (!text)
            return -1;
        memcpy(at, text, strlen(text) + 1);
        free(text);
    } else {
        memcpy(at, &integer, sizeof integer);
    }
    return 0;
}

static hid_t column_type(const struct column *c)
{
    switch (c->kind) {
    case CELL_DOUBLE:
        return H5Tcopy(H5T_IEEE_F64LE);
    case CELL_STRING:
        return h5_string_type(c->width);
    case CELL_INT:
        break;
    }
    return H5Tcopy(H5T_STD_I64LE);
}

static hid_t table_type(const struct column *columns, size_t n, size_t row_bytes)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, row_bytes);

    for (size_t c = 0; type >= 0 && c < n; c++) {
        hid_t cell = column_type(&columns[c]);
        herr_t rc =
            cell < 0 ? -1 : H5Tinsert(type, columns[c].key, columns[c].offset, cell);

        if (cell >= 0)
            H5Tclose(cell);
        if (rc < 0) {
            H5Tclose(type);
            return -1;
        }
    }
    return type;
}

static int table_write(hid_t file, const char *name, struct column *columns, size_t n,
                       const json_t *rows)
{
    hsize_t n_rows = json_array_size(rows);
    unsigned char *table;
    size_t row_bytes;
    hid_t type;
    int rc = 0;

    if (columns_place(columns, n, rows, &row_bytes) < 0)
        return -1;
    table = calloc(n_rows + 1, row_bytes);
    type = table_type(columns, n, row_bytes);
    if (!table || type < 0)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < n_rows; i++)
        for (size_t c = 0; rc == 0 && c < n; c++)
            rc = cell_fill(table + i * row_bytes + columns[c].offset, &columns[c],
                           json_array_get(rows, i));
    if (rc == 0)
        rc = h5_dataset(file, name, type, 1, &n_rows, table, NULL);
    if (type >= 0)
        H5Tclose(type);
    free(table);
    return rc;
}

static int rows_write(hid_t file, const char *name, const struct column *columns,
                      size_t n_columns, const void *rows, size_t n)
{
    static const char none[8 * REPORT_FIELDS];
    hsize_t shape = n;
    hid_t type = table_type(columns, n_columns, 8 * n_columns);
    int rc =
        type < 0 ? -1 : h5_dataset(file, name, type, 1, &shape, n ? rows : none, NULL);

    if (type >= 0)
        H5Tclose(type);
    return rc;
}

/* The table of the reports is in memory as it is in the file. */
static int reports_write(hid_t file, const struct metrics_table *reports)
{
    static const struct column replaced[] = {{"training_iteration", CELL_INT, 0, 8},
                                             {"attempt", CELL_INT, 8, 8},
                                             {"superseded_by", CELL_INT, 16, 8}};
    struct column columns[REPORT_FIELDS];

    static_assert(sizeof *reports->fields == 8 * REPORT_FIELDS, "cells without gaps");
    static_assert(sizeof *reports->superseded == 24, "cells without gaps");
    for (size_t i = 0; i < REPORT_FIELDS; i++)
        columns[i] = (struct column){
            report_fields[i].key,
            report_fields[i].kind == FIELD_DOUBLE ? CELL_DOUBLE : CELL_INT, 8 * i, 8};
    if (rows_write(file, "reports", columns, REPORT_FIELDS, reports->fields,
                   reports->n) < 0)
        return -1;
    return rows_write(file, "superseded", replaced, 3, reports->superseded,
                      reports->n_superseded);
}

static int attempts_write(hid_t file, const json_t *attempts)
{
    struct column attempt_columns[] = {
        {"attempt", CELL_INT, 0, 0},
        {"workers", CELL_INT, 0, 0},
        {"launcher", CELL_STRING, 0, 0},
        {"nodes", CELL_STRING, 0, 0},
        {"start", CELL_DOUBLE, 0, 0},
        {"end", CELL_DOUBLE, 0, 0},
        {"outcome", CELL_STRING, 0, 0},
        {"checkpoint", CELL_STRING, 0, 0},
        {"rank", CELL_INT, 0, 0},
        {"host", CELL_STRING, 0, 0},
        {"signal", CELL_INT, 0, 0},
        {"exit_status", CELL_INT, 0, 0},
        {"message", CELL_STRING, 0, 0},
        {"cause", CELL_STRING, 0, 0},
        {"reports", CELL_INT, 0, 0},
        {"lost_iterations", CELL_INT, 0, 0},
        {"lost_seconds", CELL_DOUBLE, 0, 0},
    };

    return table_write(file, "attempts", attempt_columns,
                       sizeof attempt_columns / sizeof *attempt_columns, attempts);
}

/* ---- The Result ---- */

static int result_write(hid_t file, const json_t *result)
{
    const json_t *error = json_object_get(result, "error");
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    int rc = -1;

    if (root < 0)
        return -1;
    if (h5_attr_string(root, "format", RESULT_FORMAT) == 0 &&
        h5_attr_int(root, "format_version", RESULT_VERSION) == 0 &&
        h5_attr_string(root, "status", string_of(result, "status")) == 0 &&
        h5_attr_string(root, "path", string_of(result, "path")) == 0 &&
        h5_attr_string(root, "checkpoint", string_of(result, "checkpoint")) == 0 &&
        h5_attr_string(root, "best_checkpoint", string_of(result, "best_checkpoint")) ==
            0 &&
        h5_attr_int(root, "n_attempts", integer_of(result, "attempts")) == 0 &&
        h5_attr_string(root, "error",
                       json_is_string(error) ? json_string_value(error)
                                             : string_of(error, "message")) == 0)
        rc = 0;
    H5Gclose(root);
    return rc;
}

/* ---- All of it ---- */

static void head_fill(struct result_head *head, const char *bytes, size_t n,
                      const char *status)
{
    memset(head, 0, sizeof *head);
    memcpy(head->magic, RESULT_MAGIC, sizeof head->magic);
    head->version = RESULT_VERSION;
    head->head_bytes = sizeof *head;
    head->file_bytes = n;
    head->body_hash = XXH3_64bits(bytes + sizeof *head, n - sizeof *head);
    snprintf(head->status, sizeof head->status, "%s", status);
    snprintf(head->text, sizeof head->text,
             "\n\nThis is a result of raytrain and an HDF5 file.\n"
             "Look at it with raytrain-inspect, h5dump, h5ls or h5py.\n");
    head->head_hash = XXH3_64bits(head, offsetof(struct result_head, head_hash));
}

static int image_write(struct h5_image *image, const char *path, const char *status,
                       struct error *err)
{
    size_t n = h5_image_length(image);
    char *bytes = malloc(n);
    struct result_head head;
    int rc;

    if (!bytes)
        return error_no_memory(err);
    h5_image_read(image, 0, bytes, n);
    head_fill(&head, bytes, n, status);
    memcpy(bytes, &head, sizeof head);
    rc = fs_write_atomic(path, bytes, n, 0666, err);
    free(bytes);
    return rc;
}

int metrics_write_h5(const char *path, const struct metrics_table *reports,
                     const json_t *result, const json_t *attempts, struct error *err)
{
    const struct h5_image_options opt = {.user_block = sizeof(struct result_head)};
    struct h5_image *image = h5_image_create(&opt, err);
    struct h5_quiet quiet;
    hid_t file;
    int rc = 0;

    if (!image)
        return -1;
    file = h5_image_file(image);
    h5_quiet_begin(&quiet);
    if (result_write(file, result) < 0 || all_metrics_write(file, reports) < 0 ||
        reports_write(file, reports) < 0 || attempts_write(file, attempts) < 0)
        rc = h5_error(err, "make result.h5");
    h5_quiet_end(&quiet);
    if (rc == 0)
        rc = h5_image_close(image, err);
    if (rc == 0)
        rc = image_write(image, path, string_of(result, "status"), err);
    h5_image_destroy(image);
    return rc;
}

/* Is a large file as long as its head says? Otherwise it is not read: it may be a hole.
 */
static bool is_odd(const char *path)
{
    int fd = record_open(path, RECORD_OF_RUN);
    struct result_head head;
    struct stat st;
    bool odd = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > (off_t)RECORD_BYTES_MAX &&
               (fs_pread_full(fd, &head, sizeof head, 0) < 0 ||
                head.file_bytes != (uint64_t)st.st_size);

    if (fd >= 0)
        close(fd);
    return odd;
}

int metrics_read_status(const char *path, char **status, struct error *err)
{
    struct result_head head;
    struct error why;
    char *bytes = NULL;
    size_t n;
    int rc = 0;

    *status = NULL;
    if (is_odd(path))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: the file is damaged or truncated (length)", path);
    if (record_read_large(path, RECORD_OF_RUN, &bytes, &n, &why) < 0)
        return why.code == RAYTRAIN_ENOTFOUND
                   ? 0
                   : error_set(err, why.code, "%s", why.text);
    if (n >= sizeof head)
        memcpy(&head, bytes, sizeof head);
    if (n < sizeof head || memcmp(head.magic, RESULT_MAGIC, sizeof head.magic) != 0)
        rc = error_set(err, RAYTRAIN_ECORRUPT, "%s: this is not a result of raytrain",
                       path);
    else if (head.head_hash !=
                 XXH3_64bits(&head, offsetof(struct result_head, head_hash)) ||
             head.file_bytes != n ||
             head.body_hash != XXH3_64bits(bytes + sizeof head, n - sizeof head))
        rc = error_set(err, RAYTRAIN_ECORRUPT,
                       "%s: the file is damaged or truncated (checksum)", path);
    free(bytes);
    if (rc < 0)
        return -1;
    head.status[sizeof head.status - 1] = '\0';
    *status = strdup(head.status);
    return *status ? 0 : error_no_memory(err);
}

int metrics_peek_status(const char *path, char **status, struct error *err)
{
    int fd = record_open(path, RECORD_OF_RUN), rc;
    struct result_head head;

    *status = NULL;
    if (fd < 0)
        return errno == ENOENT ? 0 : fs_error(err, "open", path);
    rc = fs_pread_full(fd, &head, sizeof head, 0);
    close(fd);
    if (rc < 0 || memcmp(head.magic, RESULT_MAGIC, sizeof head.magic) != 0 ||
        head.head_hash != XXH3_64bits(&head, offsetof(struct result_head, head_hash)))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: the head of the file is damaged (checksum)", path);
    head.status[sizeof head.status - 1] = '\0';
    *status = strdup(head.status);
    return *status ? 0 : error_no_memory(err);
}
