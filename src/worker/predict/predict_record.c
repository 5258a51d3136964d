/*
 * predict_record.c - writes prediction.json, and compares a prediction that continues
 * with it.
 */
#include "predict/predict_record.h"

#include <stdlib.h>
#include <string.h>

#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

#define NAME "prediction.json"

/* ---- Making one ---- */

/* For strings, the bytes of the longest one, for which each row of a dataset has
 * room. */
static json_t *predicted_shape_json(const struct predicted_column *c)
{
    const raytrain_tensor *row = &c->row;
    json_t *shape =
        c->is_string ? json_pack("[I]", (json_int_t)c->row_bytes - 1) : json_array();

    for (int i = 0; shape && i < row->ndim; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)row->shape[i])) < 0) {
            json_decref(shape);
            return NULL;
        }
    return shape;
}

static json_t *outputs_json(const struct predicted *p)
{
    json_t *columns = json_array();

    for (size_t i = 0; columns && i < p->n; i++) {
        const struct predicted_column *c = &p->columns[i];
        json_t *column =
            json_pack("{s:o, s:s, s:o, s:b}", "name", json_text(c->name), "dtype",
                      c->is_string ? "string" : raytrain_dtype_name(c->row.dtype),
                      "shape", predicted_shape_json(c), "kept", c->kept);

        if (json_array_append_new(columns, column) < 0) {
            json_decref(columns);
            return NULL;
        }
    }
    return columns;
}

static const char *format_name(const struct predicted_format *format)
{
    return format == &predicted_hdf5  ? "hdf5"
           : format == &predicted_csv ? "csv"
                                      : "npy";
}

json_t *predict_record_make(const struct predict_facts *f)
{
    return json_pack(
        "{s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o}", "output", json_text(f->output),
        "format", format_name(f->predicted->format), "input", json_text(f->input),
        "checkpoint", f->checkpoint ? json_text(f->checkpoint) : json_null(),
        "iteration", (json_int_t)f->iteration, "rows", (json_int_t)f->plan->rows,
        "batch", (json_int_t)f->plan->batch, "shard_rows",
        (json_int_t)f->plan->part_rows, "columns", outputs_json(f->predicted));
}

/* ---- Files ---- */

static char *record_path(const char *run_dir)
{
    char *path;

    return asprintf(&path, "%s/" NAME, run_dir) < 0 ? NULL : path;
}

int predict_record_load(const char *run_dir, json_t **record, struct error *err)
{
    char *path = record_path(run_dir), *text = NULL;
    json_error_t why;
    size_t n;
    int rc = 0;

    *record = NULL;
    if (!path)
        return error_no_memory(err);
    if (record_read(path, RECORD_OF_RUN, &text, &n, err) < 0) {
        rc = err->code == RAYTRAIN_ENOTFOUND ? 0 : -1;
    } else {
        *record = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
        if (!*record)
            rc = error_set(err, RAYTRAIN_ECORRUPT,
                           "%s:%d: %s; --fresh begins the prediction again", path,
                           why.line, why.text);
    }
    free(text);
    free(path);
    return rc;
}

int predict_record_save(const char *run_dir, const json_t *record, struct error *err)
{
    char *path = record_path(run_dir),
         *text = json_dumps(record, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    int rc = path && text ? fs_write_atomic(path, text, strlen(text), 0666, err)
                          : error_no_memory(err);

    free(text);
    free(path);
    return rc;
}

/* ---- Comparing ---- */

/* Set an error with both values, at most 300 bytes of each. */
static int fail_changed(const char *key, const json_t *before, const json_t *now,
                        struct error *err)
{
    char *was = before ? json_dumps(before, JSON_ENCODE_ANY | JSON_COMPACT) : NULL,
         *is = json_dumps(now, JSON_ENCODE_ANY | JSON_COMPACT);

    error_set(err, RAYTRAIN_EINVAL,
              "this prediction was begun with %s %.300s, and cannot continue with "
              "%.300s\n"
              "  --fresh instead of --resume begins it again",
              key, was ? was : "null", is ? is : "null");
    free(was);
    free(is);
    return -1;
}

int predict_record_compare(const json_t *before, const json_t *now, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)now, key, value)
    {
        const json_t *was = json_object_get(before, key);

        if (strcmp(key, "shard_rows") != 0 && !json_equal(was, value))
            return fail_changed(key, was, value, err);
    }
    return 0;
}

uint64_t predict_record_part_rows(const json_t *record)
{
    json_int_t rows = json_integer_value(json_object_get(record, "shard_rows")),
               batch = json_integer_value(json_object_get(record, "batch"));

    return rows > 0 && batch > 0 && rows % batch == 0 ? (uint64_t)rows : 0;
}
