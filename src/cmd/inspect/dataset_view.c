/*
 * dataset_view.c - a dataset: its columns with statistics, or its first rows.
 *
 * All rows are read as a worker reads them, in blocks of bounded size: while one block
 * is processed, the dataset's thread reads the next.
 */
#include "config.h"

#include "inspect/column_stats.h"
#include "inspect/dataset_rows.h"
#include "inspect/output.h"
#include "inspect/views.h"

#include <stdlib.h>
#include <string.h>

#include "config/data_files.h"
#include "config/train_config.h"
#include "data/dataset.h"
#include "util/quote.h"

#define BLOCK_BYTES (4u << 20)
#define RAGGED_ROW  256 /* usual size of a row of a column without a fixed size */
#define NAME        "data"

static const char *const kinds[] = {[FRAME_NUMBERS] = "numbers",
                                    [FRAME_WORDS] = "words",
                                    [FRAME_TEXT] = "text",
                                    [FRAME_WORD_LISTS] = "word_lists",
                                    [FRAME_SPARSE] = "sparse"};

/* ---- Opening ---- */

/* "delimiter=;" of the dataset is the key datasets.data.delimiter of a configuration. */
static int option_set(struct train_config *cfg, const char *assignment,
                      struct error *err)
{
    char *text = NULL;
    int rc;

    if (asprintf(&text, "datasets." NAME ".%s", assignment) < 0)
        return error_no_memory(err);
    rc = train_config_set(cfg, text, err);
    free(text);
    return rc;
}

static int config_make(struct train_config *cfg, const char *path,
                       const struct inspect_options *options, struct error *err)
{
    struct dataset_config *d;

    for (size_t i = 0; i < options->n_settings; i++)
        if (option_set(cfg, options->settings[i], err) < 0)
            return -1;
    if (train_config_set_text(cfg, "datasets." NAME ".path", path, "PATH", err) < 0)
        return -1;
    d = &cfg->datasets[0];
    free(d->name);
    d->name = strdup(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    return d->name ? 0 : error_no_memory(err);
}

static int data_open(const struct train_config *cfg, raytrain_dataset **ds,
                     struct error *err)
{
    const struct dataset_env alone = {.rank = 0, .size = 1};

    return dataset_open(&cfg->datasets[0], &alone, ds, err);
}

/* ---- The object ---- */

/* The number of rows of a block if texts have about the usual length. */
static uint64_t block_rows_often(const raytrain_dataset *ds)
{
    const struct frame *f = dataset_schema(ds);
    uint64_t bytes = 0;

    for (size_t i = 0; i < f->n_columns; i++) {
        const struct frame_column *c = &f->columns[i];
        bool fixed = c->kind == FRAME_NUMBERS || c->kind == FRAME_WORDS;

        bytes += fixed ? frame_row_bytes(c) : RAGGED_ROW;
    }
    return bytes < BLOCK_BYTES ? BLOCK_BYTES / (bytes > 0 ? bytes : 1) : 1;
}

/* The rows of every block: the longest row fits into a block together with short
 * ones. */
static int block_rows(const raytrain_dataset *ds, uint64_t *rows, struct error *err)
{
    uint64_t longest, bytes;

    *rows = block_rows_often(ds);
    if (dataset_ragged_bytes(ds, 1, &longest, err) < 0)
        return -1;
    for (; *rows > 1; *rows = (*rows + 1) / 2) {
        if (dataset_ragged_bytes(ds, *rows, &bytes, err) < 0)
            return -1;
        if (bytes <= BLOCK_BYTES + longest)
            break;
    }
    return 0;
}

static json_t *shape_json(const raytrain_tensor *row)
{
    json_t *shape = json_array();

    for (int d = 0; shape && d < row->ndim; d++)
        json_array_append_new(shape, json_integer((json_int_t)row->shape[d]));
    return shape;
}

static json_t *dataset_column_json(const struct frame_column *c)
{
    json_t *out =
        json_pack("{s:o, s:s}", "name", json_text(c->name), "kind", kinds[c->kind]);

    if (c->kind == FRAME_NUMBERS || c->kind == FRAME_SPARSE) {
        json_object_set_new(out, "dtype",
                            json_string(raytrain_dtype_name(c->row.dtype)));
        json_object_set_new(out, "shape", shape_json(&c->row));
    }
    if (c->words)
        json_object_set_new(out, "distinct",
                            json_integer((json_int_t)dictionary_count(c->words)));
    return out;
}

static json_t *dataset_columns_json(const raytrain_dataset *ds)
{
    const struct frame *f = dataset_schema(ds);
    json_t *columns = json_array();

    for (size_t i = 0; columns && i < f->n_columns; i++)
        json_array_append_new(columns, dataset_column_json(&f->columns[i]));
    return columns;
}

static void stats_set(json_t *column, const struct frame_column *c,
                      const struct column_stats *s, bool as_text)
{
    raytrain_dtype dtype = c->kind == FRAME_TEXT ? RAYTRAIN_UINT64 : c->row.dtype;

    if (c->kind == FRAME_TEXT || c->kind == FRAME_SPARSE)
        json_object_set_new(column, "elements", json_integer((json_int_t)s->elements));
    if (c->kind != FRAME_TEXT)
        json_object_set_new(column, "missing", json_integer((json_int_t)s->missing));
    if (!s->has_numbers)
        return;
    json_object_set_new(column, "min", element_json(dtype, s->least, as_text));
    json_object_set_new(
        column, "mean",
        element_json(RAYTRAIN_FLOAT64, s->sum / (long double)s->elements, as_text));
    json_object_set_new(column, "max", element_json(dtype, s->largest, as_text));
}

/* One pass over all rows. */
static int stats_make(raytrain_dataset *ds, json_t *columns, bool as_text,
                      struct error *err)
{
    size_t n = dataset_schema(ds)->n_columns;
    struct column_stats *stats = calloc(n > 0 ? n : 1, sizeof *stats);
    uint64_t rows;
    int rc = stats ? block_rows(ds, &rows, err) : error_no_memory(err);

    if (rc == 0)
        rc = dataset_set_batch_size(ds, rows, err);
    while (rc == 0 && (rc = dataset_next(ds, &rows, err)) == 0)
        for (size_t i = 0; i < n; i++)
            column_stats_add(&stats[i], &dataset_batch(ds)->columns[i], rows);
    for (size_t i = 0; rc == 1 && i < n; i++)
        stats_set(json_array_get(columns, i), &dataset_schema(ds)->columns[i],
                  &stats[i], as_text);
    free(stats);
    return rc < 0 ? -1 : 0;
}

static int head_make(raytrain_dataset *ds, const struct inspect_options *options,
                     json_t *rows, struct error *err)
{
    uint64_t n = options->head, block, got = 0;
    int rc = block_rows(ds, &block, err);

    if (rc == 0)
        rc = dataset_set_batch_size(ds, n < block ? n : block, err);
    for (uint64_t left = n; left > 0 && rc == 0; left -= got) {
        if (left < block)
            rc = dataset_set_batch_size(ds, left, err);
        if (rc == 0)
            rc = dataset_next(ds, &got, err);
        if (rc == 0 && dataset_rows_add(rows, dataset_batch(ds), options->as_text) < 0)
            rc = error_no_memory(err);
    }
    return rc < 0 ? -1 : 0;
}

static json_t *left_out_json(const struct left_out *l)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < l->n; i++)
        json_array_append_new(list, json_pack("{s:o, s:s, s:s}", "name",
                                              json_text(l->items[i].name), "kind",
                                              l->items[i].file ? "file" : "column",
                                              "why", l->items[i].why));
    return list;
}

static json_t *dataset_json(raytrain_dataset *ds, const struct dataset_config *cfg,
                            const struct inspect_options *options, struct error *err)
{
    struct data_files files = {0};
    json_t *out = json_object(), *columns = dataset_columns_json(ds), *rows = NULL;
    int rc = data_files_list(cfg->path, cfg->format, &files, err);

    json_object_set_new(out, "kind", json_string("dataset"));
    json_object_set_new(out, "path", json_text(cfg->path));
    json_object_set_new(out, "files", json_integer((json_int_t)files.n));
    json_object_set_new(out, "rows", json_integer((json_int_t)dataset_rows(ds)));
    json_object_set(out, "columns", columns);
    json_object_set_new(out, "left_out", left_out_json(dataset_left_out(ds)));
    if (rc == 0 && options->head > 0) {
        rows = json_array();
        rc = head_make(ds, options, rows, err);
        json_object_set_new(out, "head", rows);
    } else if (rc == 0) {
        rc = stats_make(ds, columns, options->as_text, err);
    }
    data_files_clear(&files);
    json_decref(columns);
    if (rc == 0)
        return out;
    json_decref(out);
    return NULL;
}

json_t *inspect_dataset(const char *path, const struct inspect_options *options,
                        struct error *err)
{
    struct train_config cfg;
    raytrain_dataset *ds = NULL;
    json_t *out = NULL;

    train_config_init(&cfg);
    if (config_make(&cfg, path, options, err) == 0 && data_open(&cfg, &ds, err) == 0)
        out = dataset_json(ds, &cfg.datasets[0], options, err);
    dataset_close(ds);
    train_config_clear(&cfg);
    return out;
}

/* ---- The text ---- */

/* "float32 [28, 28]", "3 words" */
static void type_text(const json_t *column, char text[128])
{
    const json_t *shape = json_object_get(column, "shape");
    const char *kind = string_of(column, "kind");
    int n = 0;

    if (json_object_get(column, "distinct"))
        n = snprintf(text, 128, "%lld %s%s", integer_of(column, "distinct"), "word",
                     integer_of(column, "distinct") == 1 ? "" : "s");
    else if (shape)
        n = snprintf(text, 128, "%s", string_of(column, "dtype"));
    else
        n = snprintf(text, 128, "%s", kind);
    if (strcmp(kind, "word_lists") == 0)
        n += snprintf(text + n, 128 - (size_t)n, ", lists");
    for (size_t d = 0; d < json_array_size(shape); d++)
        n += snprintf(text + n, 128 - (size_t)n, "%s%lld", d ? ", " : " [",
                      (long long)json_integer_value(json_array_get(shape, d)));
    if (json_array_size(shape) > 0)
        n += snprintf(text + n, 128 - (size_t)n, "]");
    if (strcmp(kind, "sparse") == 0)
        snprintf(text + n, 128 - (size_t)n, " sparse");
}

static void value_print(FILE *out, const json_t *column, const char *key)
{
    const json_t *value = json_object_get(column, key);

    if (json_is_integer(value))
        fprintf(out, " %12lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, " %12.6g", json_real_value(value));
    else
        fprintf(out, " %12s", json_is_string(value) ? json_string_value(value) : "-");
}

static int type_width(const json_t *columns)
{
    char text[128];
    size_t width = 4, i;
    json_t *c;

    json_array_foreach((json_t *)columns, i, c)
    {
        type_text(c, text);
        width = strlen(text) > width ? strlen(text) : width;
    }
    return (int)width;
}

static void columns_print(FILE *out, const json_t *columns)
{
    int width = type_width(columns);
    char text[128];
    json_t *c;
    size_t i;

    fprintf(out, "\n%-*s %10s %12s %12s %12s  %s\n", width, "type", "missing", "min",
            "mean", "max", "column");
    json_array_foreach((json_t *)columns, i, c)
    {
        type_text(c, text);
        fprintf(out, "%-*s", width, text);
        if (json_object_get(c, "missing"))
            fprintf(out, " %10lld", integer_of(c, "missing"));
        else
            fprintf(out, " %10s", "-");
        value_print(out, c, "min");
        value_print(out, c, "mean");
        value_print(out, c, "max");
        fputs("  ", out);
        output_text(out, string_of(c, "name"));
        fputc('\n', out);
    }
}

static void left_out_print(FILE *out, const json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach((json_t *)list, i, item)
    {
        fprintf(out, "%-12s%s ", "not read", string_of(item, "kind"));
        output_text(out, string_of(item, "name"));
        fprintf(out, ", which %s\n", string_of(item, "why"));
    }
}

void inspect_dataset_print(FILE *out, const json_t *dataset)
{
    const json_t *columns = json_object_get(dataset, "columns");
    const json_t *rows = json_object_get(dataset, "head");

    fprintf(out, "%-12s", "dataset");
    output_text(out, string_of(dataset, "path"));
    fprintf(out, "\n%-12s%lld\n%-12s%lld\n", "files", integer_of(dataset, "files"),
            "rows", integer_of(dataset, "rows"));
    left_out_print(out, json_object_get(dataset, "left_out"));
    if (rows)
        dataset_rows_print(out, columns, rows);
    else
        columns_print(out, columns);
}
