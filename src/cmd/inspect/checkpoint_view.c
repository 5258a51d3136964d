/* checkpoint_view.c - what a checkpoint says about itself, and its table of tensors. */
#include "config.h"

#include "inspect/model.h"
#include "inspect/output.h"
#include "inspect/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_hdf5.h"
#include "preprocess/chain_file.h"
#include "run/checkpoint_manager.h"
#include "run/extracted.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/size.h"

#define INTERNAL CHECKPOINT_RESERVED "/"
#define FITTED   "/" CHECKPOINT_RESERVED "/" PREPROCESSORS_KEY

/* ---- The object ---- */

static json_t *metrics_json(const struct checkpoint_meta *meta)
{
    json_t *metrics = json_object();

    for (size_t i = 0; metrics && i < meta->n_metrics; i++) {
        double value = meta->metrics[i].value;
        char *name = printable_text(meta->metrics[i].name);

        if (name)
            json_object_set_new(metrics, name,
                                isfinite(value) ? json_real(value) : json_null());
        free(name);
    }
    return metrics;
}

static json_t *tensors_json(const raytrain_checkpoint *ck)
{
    struct checkpoint_item item;
    json_t *all = json_array();

    for (size_t i = 0; all && checkpoint_item(ck, i, &item); i++) {
        bool is_string = strcmp(item.type, "string") == 0;
        json_t *shape = json_array();

        for (int d = 0; !is_string && d < item.ndim; d++)
            json_array_append_new(shape, json_integer((json_int_t)item.shape[d]));
        json_array_append_new(all, json_pack("{s:s, s:s, s:o, s:I}", "name", item.name,
                                             "dtype", item.type, "shape", shape,
                                             "bytes", (json_int_t)item.bytes));
    }
    return all;
}

static json_t *columns_json(const struct preprocessor_config *p)
{
    json_t *columns = json_array();

    for (size_t i = 0; columns && i < p->n_columns; i++)
        json_array_append_new(columns, json_text(p->columns[i]));
    return columns;
}

/* [{"type": "standard_scaler", "columns": ["x"]}, ...]; *out stays NULL if the checkpoint
 * has none. */
static int preprocessors_json(const raytrain_checkpoint *ck, json_t **out,
                              struct error *err)
{
    hid_t file = checkpoint_hdf5_open(ck, err);
    struct chain chain = {.list = NULL};
    int rc = file < 0 ? -1 : 0;

    if (rc == 0 && checkpoint_hdf5_has(file, FITTED)) {
        rc = chain_load(&chain, file, FITTED, err);
        *out = rc == 0 ? json_array() : NULL;
    }
    for (size_t i = 0; *out && i < chain.n; i++)
        json_array_append_new(*out,
                              json_pack("{s:s, s:o}", "type", chain.list[i].ops->name,
                                        "columns", columns_json(chain.list[i].config)));
    if (file >= 0)
        H5Fclose(file);
    chain_clear(&chain);
    return rc;
}

static void meta_set(json_t *out, const raytrain_checkpoint *ck)
{
    const struct checkpoint_meta *meta = checkpoint_meta(ck);
    char date[32];

    clock_iso8601(meta->timestamp, date);
    json_object_set_new(out, "run_name", json_text(meta->run_name));
    json_object_set_new(out, "training_iteration",
                        json_integer(meta->training_iteration));
    json_object_set_new(out, "attempt", json_integer(meta->attempt));
    json_object_set_new(out, "world_size", json_integer(meta->world_size));
    json_object_set_new(out, "time_total_s",
                        isfinite(meta->time_total_s) ? json_real(meta->time_total_s)
                                                     : json_null());
    json_object_set_new(out, "timestamp", json_integer(meta->timestamp));
    json_object_set_new(out, "date", json_string(date));
    json_object_set_new(out, "bytes",
                        json_integer((json_int_t)checkpoint_file_bytes(ck)));
    json_object_set_new(out, "metrics", metrics_json(meta));
}

/* The directory of its files that Python has made beside it. */
static void directory_set(json_t *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash > path ? (size_t)(slash - path) : 1;
    char *run = slash ? strndup(path, n) : strdup(".");
    int64_t iteration = checkpoint_manager_iteration(path);
    struct extracted x = {NULL, 0, false};

    if (run && iteration >= 0)
        extracted_find(run, iteration, &x);
    json_object_set_new(out, "directory", x.path ? json_text(x.path) : json_null());
    if (x.path)
        json_object_set_new(out, "directory_bytes", json_integer((json_int_t)x.bytes));
    if (x.path)
        json_object_set_new(out, "directory_is_old", json_boolean(x.is_old));
    extracted_clear(&x);
    free(run);
}

int inspect_open(const char *path, raytrain_checkpoint **ck, struct error *err)
{
    if (checkpoint_open_index(path, ck, err) < 0)
        return -1;
    if (checkpoint_verify(*ck, err) < 0) {
        checkpoint_destroy(*ck);
        *ck = NULL;
        return -1;
    }
    return 0;
}

json_t *inspect_checkpoint(const char *path, bool tensors, bool verify,
                           struct error *err)
{
    json_t *out = json_object();
    raytrain_checkpoint *ck = NULL;
    json_t *fitted = NULL, *model = NULL;
    int rc;

    if (!out)
        return NULL;
    err->code = RAYTRAIN_OK;
    json_object_set_new(out, "kind", json_string("checkpoint"));
    json_object_set_new(out, "path", json_text(path));
    directory_set(out, path);
    rc = checkpoint_open_index(path, &ck, err);
    if (rc == 0) {
        meta_set(out, ck);
        rc = preprocessors_json(ck, &fitted, err);
        if (fitted)
            json_object_set_new(out, "preprocessors", fitted);
        if (rc == 0)
            rc = model_json(ck, &model, err);
        if (model)
            json_object_set_new(out, "model", model);
        if (tensors)
            json_object_set_new(out, "tensors", tensors_json(ck));
        if (rc == 0 && verify)
            rc = checkpoint_verify(ck, err);
    }
    json_object_set_new(out, "verified", json_boolean(verify && rc == 0));
    json_object_set_new(out, "error", rc < 0 ? json_text(err->text) : json_null());
    checkpoint_destroy(ck);
    return out;
}

/* ---- The text ---- */

static void field_print(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%-12s", name);
    output_text(out, text);
    fputc('\n', out);
}

static void directory_print(FILE *out, const json_t *c)
{
    char size[SIZE_TEXT_MAX];

    if (!*string_of(c, "directory"))
        return;
    fprintf(out, "%-12s", "directory");
    output_text(out, string_of(c, "directory"));
    fprintf(out, ", %s%s\n",
            size_format((uint64_t)integer_of(c, "directory_bytes"), size),
            json_is_true(json_object_get(c, "directory_is_old"))
                ? ", of an earlier checkpoint of this name"
                : "");
}

static void shape_print(const json_t *tensor, char text[256])
{
    json_t *shape = json_object_get(tensor, "shape");
    size_t n = json_array_size(shape);
    int at = snprintf(text, 256, "[");

    for (size_t d = 0; d < n && d < RAYTRAIN_MAX_DIMS; d++)
        at += snprintf(text + at, 256 - (size_t)at, "%s%lld", d ? ", " : "",
                       (long long)json_integer_value(json_array_get(shape, d)));
    snprintf(text + at, 256 - (size_t)at, "]");
    if (strcmp(string_of(tensor, "dtype"), "string") == 0)
        text[0] = '\0';
    else if (n == 0)
        strcpy(text, "scalar");
}

static bool is_internal(const json_t *tensor)
{
    return strncmp(string_of(tensor, "name"), INTERNAL, strlen(INTERNAL)) == 0;
}

static void tensors_print(FILE *out, const json_t *tensors)
{
    size_t i, internal = 0, shown = 0;
    json_int_t internal_bytes = 0;
    json_t *t;
    char size[SIZE_TEXT_MAX], shape[256];

    json_array_foreach((json_t *)tensors, i, t)
    {
        if (is_internal(t)) {
            internal++;
            internal_bytes += integer_of(t, "bytes");
            continue;
        }
        if (shown++ == 0)
            fprintf(out, "\n%-9s %-20s %8s  %s\n", "type", "shape", "bytes", "tensor");
        shape_print(t, shape);
        fprintf(out, "%-9s %-20s %8s  ", string_of(t, "dtype"), shape,
                size_format((uint64_t)integer_of(t, "bytes"), size));
        output_text(out, string_of(t, "name"));
        fputc('\n', out);
    }
    fprintf(out, "\n%zu tensor%s", shown, shown == 1 ? "" : "s");
    if (internal > 0)
        fprintf(out, ", and %zu of the library's own (%s) below /" CHECKPOINT_RESERVED,
                internal, size_format((uint64_t)internal_bytes, size));
    fputc('\n', out);
}

static void metrics_print(FILE *out, json_t *metrics)
{
    const char *name;
    json_t *value;

    json_object_foreach(metrics, name, value)
    {
        fprintf(out, "%-12s", "metric");
        output_text(out, name);
        if (json_is_null(value))
            fprintf(out, " = nan\n");
        else
            fprintf(out, " = %.6g\n", json_number_value(value));
    }
}

static void preprocessors_print(FILE *out, const json_t *all)
{
    size_t i, k;
    json_t *p, *column;

    fprintf(out, "%-12s", "preprocessor");
    json_array_foreach((json_t *)all, i, p)
    {
        fprintf(out, "%s%s(", i ? ", " : " ", string_of(p, "type"));
        json_array_foreach(json_object_get(p, "columns"), k, column)
        {
            fputs(k ? ", " : "", out);
            output_text(out, json_string_value(column));
        }
        fputc(')', out);
    }
    fputc('\n', out);
}

void inspect_checkpoint_print(FILE *out, const json_t *c)
{
    char size[SIZE_TEXT_MAX];

    field_print(out, "checkpoint", string_of(c, "path"));
    if (json_object_get(c, "run_name")) {
        field_print(out, "run", string_of(c, "run_name"));
        fprintf(out, "%-12s%lld, attempt %lld, %lld worker%s, after %.1f s\n",
                "iteration", (long long)integer_of(c, "training_iteration"),
                (long long)integer_of(c, "attempt"),
                (long long)integer_of(c, "world_size"),
                integer_of(c, "world_size") == 1 ? "" : "s",
                json_number_value(json_object_get(c, "time_total_s")));
        field_print(out, "written", string_of(c, "date"));
        fprintf(out, "%-12s%s\n", "size",
                size_format((uint64_t)integer_of(c, "bytes"), size));
        directory_print(out, c);
        metrics_print(out, json_object_get(c, "metrics"));
        if (json_object_get(c, "preprocessors"))
            preprocessors_print(out, json_object_get(c, "preprocessors"));
        if (json_object_get(c, "model"))
            model_print(out, json_object_get(c, "model"));
    }
    if (json_is_true(json_object_get(c, "verified")))
        field_print(out, "verified", "every byte matches its checksum");
    else if (json_is_string(json_object_get(c, "error")))
        field_print(out, "damaged", string_of(c, "error"));
    if (json_object_get(c, "tensors"))
        tensors_print(out, json_object_get(c, "tensors"));
}
