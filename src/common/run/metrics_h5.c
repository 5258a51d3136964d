/*
 * metrics_h5.c - result.h5: the reports that count and the Result, as HDF5.
 *
 *   /metrics/NAME                    the means, one double a report; NaN where a report
 *                                    did not have it
 *   /metrics_rank0, _min, _max/NAME  the same of rank 0, and over ranks
 *   /reports, /attempts              tables
 *   attributes of /                  the Result
 */
#include "config.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "checkpoint/name_map.h"
#include "hdf5/h5.h"
#include "hdf5/h5_image.h"
#include "run/metrics.h"
#include "util/fs.h"

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

/* The names of all metrics of all reports, in the order in which they first appear: the
 * keys of an object whose values are their HDF5 names. NULL without memory. */
static json_t *metric_names(const json_t *reports)
{
    json_t *names = json_object(), *report, *ignored;
    struct name_map paths = {0};
    const char *name;
    int rc = names ? 0 : -1;
    size_t i;

    json_array_foreach(reports, i, report)
    {
        json_object_foreach(json_object_get(report, "by_rank"), name, ignored)
        {
            if (rc == 0 && !json_object_get(names, name))
                rc = json_object_set_new(names, name, json_null());
        }
    }
    for (void *at = json_object_iter(names); rc == 0 && at;
         at = json_object_iter_next(names, at))
        rc = json_object_iter_set_new(names, at,
                                      metric_path(json_object_iter_key(at), &paths));
    name_map_clear(&paths);
    if (rc == 0)
        return names;
    json_decref(names);
    return NULL;
}

/* The value of a metric in one report: of `rank0`, `min` or `max`; which NULL: the
 * mean. */
static double metric_value(const json_t *report, const char *name, const char *which)
{
    const json_t *by_rank = json_object_get(report, "by_rank");
    const json_t *one = json_object_get(by_rank, name);

    if (!one)
        return NAN;
    return number_or_nan(which ? json_object_get(one, which)
                               : json_object_get(report, name));
}

static int metrics_write(hid_t file, const json_t *reports, const json_t *names,
                         const char *group, const char *which, double *column)
{
    hsize_t n = json_array_size(reports);
    const json_t *path;
    const char *name;
    int rc = 0;

    json_object_foreach((json_t *)names, name, path)
    {
        char *full;

        if (asprintf(&full, "%s/%s", group, json_string_value(path)) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            column[i] = metric_value(json_array_get(reports, i), name, which);
        rc = h5_dataset(file, full, H5T_IEEE_F64LE, 1, &n, column, NULL);
        free(full);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* A run without reports has the groups, too. */
static int groups_create(hid_t file, const char *const *groups, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hid_t group =
            H5Gcreate2(file, groups[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

        if (group < 0 || H5Gclose(group) < 0)
            return -1;
    }
    return 0;
}

static int all_metrics_write(hid_t file, const json_t *reports)
{
    static const char *const groups[] = {"metrics", "metrics_rank0", "metrics_min",
                                         "metrics_max"};
    static const char *const which[] = {NULL, "rank0", "min", "max"};
    double *column = calloc(json_array_size(reports) + 1, sizeof *column);
    json_t *names = metric_names(reports);
    int rc = column && names ? groups_create(file, groups, 4) : -1;

    for (size_t i = 0; rc == 0 && i < 4; i++)
        rc = metrics_write(file, reports, names, groups[i], which[i], column);
    json_decref(names);
    free(column);
    return rc;
}

/* ---- Tables ---- */

enum cell_kind { CELL_INT, CELL_DOUBLE, CELL_STRING, CELL_PRESENT };

/* A column of a table: a key of each row's object. */
struct column {
    const char *key;
    enum cell_kind kind; /* CELL_PRESENT: 1 if the key's value is a string, else 0 */
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
    int64_t integer =
        c->kind == CELL_PRESENT ? json_is_string(value) : integer_of(row, c->key);
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
    case CELL_PRESENT:
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

static int tables_write(hid_t file, const json_t *reports, const json_t *attempts)
{
    struct column report_columns[] = {
        {"training_iteration", CELL_INT, 0, 0},
        {"attempt", CELL_INT, 0, 0},
        {"timestamp", CELL_INT, 0, 0},
        {"time_total_s", CELL_DOUBLE, 0, 0},
        {"time_this_iter_s", CELL_DOUBLE, 0, 0},
        {"data_wait_s", CELL_DOUBLE, 0, 0},
        {"world_size", CELL_INT, 0, 0},
        {"checkpoint", CELL_PRESENT, 0, 0},
        {"checkpoint_bytes", CELL_INT, 0, 0},
        {"checkpoint_stall_s", CELL_DOUBLE, 0, 0},
        {"checkpoint_write_s", CELL_DOUBLE, 0, 0},
    };
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

    if (table_write(file, "reports", report_columns,
                    sizeof report_columns / sizeof *report_columns, reports) < 0)
        return -1;
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    h5_image_read(image, 0, bytes, n);
    head_fill(&head, bytes, n, status);
    memcpy(bytes, &head, sizeof head);
    rc = fs_write_atomic(path, bytes, n, 0666, err);
    free(bytes);
    return rc;
}

int metrics_write_h5(const char *path, const json_t *reports, const json_t *result,
                     const json_t *attempts, struct error *err)
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
        tables_write(file, reports, attempts) < 0)
        rc = h5_error(err, "make result.h5");
    h5_quiet_end(&quiet);
    if (rc == 0)
        rc = h5_image_close(image, err);
    if (rc == 0)
        rc = image_write(image, path, string_of(result, "status"), err);
    h5_image_destroy(image);
    return rc;
}

int metrics_read_status(const char *path, char **status, struct error *err)
{
    struct result_head head;
    struct error why;
    char *bytes = NULL;
    size_t n;
    int rc = 0;

    *status = NULL;
    if (fs_read(path, &bytes, &n, &why) < 0)
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
    return *status ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}
