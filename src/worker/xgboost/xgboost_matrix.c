/*
 * xgboost_matrix.c - makes matrices from rows, and sets labels, weights, queries and
 * margins. gbdt/rows_load.c prepares the rows.
 */
#include "config.h"

#include "xgboost/xgboost_matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

/* ---- Options ---- */

static int option_type(const char *key, const char *what, struct error *err)
{
    return error_set(err, RAYTRAIN_EINVAL, "dmatrix_params.%s: expected %s", key, what);
}

static int option_take(const char *key, const json_t *value,
                       struct xgboost_matrix_options *out, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (strcmp(key, "missing") == 0) {
        if (!json_is_number(value))
            return option_type(key, "a number", err);
        out->missing = json_number_value(value);
    } else if (strcmp(key, "nthread") == 0) {
        if (!json_is_integer(value) || json_integer_value(value) < 1 ||
            json_integer_value(value) > 65536)
            return option_type(key, "a number of threads", err);
        out->threads = (int)json_integer_value(value);
    } else if (strcmp(key, "feature_types") == 0) {
        size_t i;
        json_t *type;

        if (!json_is_array(value))
            return option_type(key, "a list of types, one for each feature", err);
        json_array_foreach((json_t *)value, i, type) if (
            !json_is_string(
                type)) return option_type(key, "types such as \"float\" and \"c\"",
                                          err);
        out->types = value;
    } else if (strcmp(key, "enable_categorical") == 0 || strcmp(key, "silent") == 0) {
        if (!json_is_boolean(value))
            return option_type(key, "true or false", err);
    } else {
        return error_set(
            err, RAYTRAIN_EINVAL,
            "dmatrix_params: %s is unknown; the keys are missing, nthread, "
            "feature_types, enable_categorical and silent",
            quote(key, quoted));
    }
    return 0;
}

int xgboost_matrix_options(const json_t *params, int threads,
                           struct xgboost_matrix_options *out, struct error *err)
{
    const char *key;
    json_t *value;

    *out = (struct xgboost_matrix_options){.missing = NAN, .threads = threads};
    json_object_foreach((json_t *)params, key,
                        value) if (option_take(key, value, out, err) < 0) return -1;
    return 0;
}

/* ---- Values ---- */

#define ARRAY_MAX 160

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

/* NumPy's array interface of `rows` numbers, or rows x columns if columns is not 0. */
static const char *array_text(const void *data, uint64_t rows, uint64_t columns,
                              const char *type, char text[ARRAY_MAX])
{
    static const double none;
    char shape[48];

    snprintf(shape, sizeof shape, columns > 0 ? "%" PRIu64 ",%" PRIu64 : "%" PRIu64,
             rows, columns);
    snprintf(text, ARRAY_MAX,
             "{\"data\":[%" PRIuPTR
             ",true],\"shape\":[%s],\"typestr\":\"%s\",\"version\":3}",
             (uintptr_t)(data ? data : &none), shape, type);
    return text;
}

static const char *values_type(const struct gbdt_rows *s)
{
    return s->dtype == RAYTRAIN_FLOAT64 ? ORDER "f8" : ORDER "f4";
}

static void make_config(const struct xgboost_matrix_options *options, char *text,
                        size_t room)
{
    char missing[40] = "NaN";

    if (isinf(options->missing))
        strcpy(missing, options->missing > 0 ? "Infinity" : "-Infinity");
    else if (!isnan(options->missing))
        snprintf(missing, sizeof missing, "%.17g", options->missing);
    snprintf(text, room, "{\"missing\":%s,\"nthread\":%d}", missing, options->threads);
}

int xgboost_matrix_make(const struct xgboost_library *x,
                        const struct xgboost_matrix_options *options,
                        const struct gbdt_rows *s, uint64_t width, void **out,
                        struct error *err)
{
    static const uint64_t no_rows[1];
    char values[ARRAY_MAX], offsets[ARRAY_MAX], indices[ARRAY_MAX], config[96];
    int rc;

    make_config(options, config, sizeof config);
    if (s->sparse || s->n == 0)
        rc = x->XGDMatrixCreateFromCSR(
            array_text(s->n > 0 ? s->offsets : no_rows, s->n + 1, 0, ORDER "u8",
                       offsets),
            array_text(s->indices, s->sparse ? s->n_values : 0, 0, ORDER "u4", indices),
            array_text(s->values, s->sparse ? s->n_values : 0, 0, values_type(s),
                       values),
            s->features > width ? s->features : width, config, out);
    else
        rc = x->XGDMatrixCreateFromDense(
            array_text(s->values, s->n, s->features, values_type(s), values), config,
            out);
    return rc == 0 ? 0 : xgboost_fail(x, RAYTRAIN_EINVAL, "XGBoost's matrix", err);
}

/* ---- Rows ---- */

/* XGBoost weighs queries: take the weight of the first row of each. Without queries,
 * take those of the rows. NULL: RAYTRAIN_ENOMEM, or RAYTRAIN_EINVAL if the rows of a
 * query have different weights. */
static float *weights_make(const struct gbdt_rows *s, uint64_t *n, struct error *err)
{
    uint64_t row = 0;
    float *weights;

    *n = s->groups ? s->n_groups : s->n;
    weights = calloc(*n + 1, sizeof *weights);
    if (!weights) {
        error_no_memory(err);
        return NULL;
    }
    if (!s->groups)
        memcpy(weights, s->weight, s->n * sizeof *weights);
    for (size_t g = 0; s->groups && g < s->n_groups; row += s->groups[g++]) {
        weights[g] = s->weight[row];
        for (uint32_t k = 1; k < s->groups[g]; k++) {
            if (s->weight[row + k] == weights[g])
                continue;
            error_set(
                err, RAYTRAIN_EINVAL,
                "rows %" PRIu64 " and %" PRIu64
                " are of one query, but their weights differ (%g and %g); XGBoost "
                "weighs queries",
                s->first + row, s->first + row + k, (double)weights[g],
                (double)s->weight[row + k]);
            free(weights);
            return NULL;
        }
    }
    return weights;
}

static int weights_set(const struct xgboost_library *x, void *matrix,
                       const struct gbdt_rows *s, struct error *err)
{
    char text[ARRAY_MAX];
    float *weights;
    uint64_t n;
    int rc;

    if (!s->weight || s->n == 0)
        return 0;
    weights = weights_make(s, &n, err);
    if (!weights)
        return error_prefix(err, "dataset %s", s->name);
    rc = x->XGDMatrixSetInfoFromInterface(matrix, "weight",
                                          array_text(weights, n, 0, ORDER "f4", text));
    free(weights);
    if (rc == 0)
        return 0;
    xgboost_fail(x, RAYTRAIN_EINVAL, "weight", err);
    return error_prefix(err, "dataset %s", s->name);
}

int xgboost_matrix_describe_rows(const struct xgboost_library *x, void *matrix,
                                 const struct gbdt_rows *s, struct error *err)
{
    char text[ARRAY_MAX];
    const struct {
        const char *field;
        const void *data;
        uint64_t n, columns;
        const char *type;
    } infos[] = {
        {"label", s->label, s->n, 0, ORDER "f4"},
        {"group", s->groups, s->n_groups, 0, ORDER "u4"},
        {"base_margin", s->margin, s->n, s->margins > 1 ? s->margins : 0, ORDER "f8"},
    };

    for (size_t i = 0; s->n > 0 && i < sizeof infos / sizeof infos[0]; i++) {
        if (!infos[i].data)
            continue;
        array_text(infos[i].data, infos[i].n, infos[i].columns, infos[i].type, text);
        if (x->XGDMatrixSetInfoFromInterface(matrix, infos[i].field, text) != 0) {
            xgboost_fail(x, RAYTRAIN_EINVAL, infos[i].field, err);
            return error_prefix(err, "dataset %s", s->name);
        }
    }
    return weights_set(x, matrix, s, err);
}

/* ---- Features ---- */

static int strings_set(const struct xgboost_library *x, void *handle, bool model,
                       const char *field, const char **strings, size_t n,
                       struct error *err)
{
    int rc = model ? x->XGBoosterSetStrFeatureInfo(handle, field, strings, n)
                   : x->XGDMatrixSetStrFeatureInfo(handle, field, strings, n);

    return rc == 0 ? 0 : xgboost_fail(x, RAYTRAIN_EINVAL, field, err);
}

static const char *type_of(const struct xgboost_matrix_options *options,
                           const struct gbdt_features *f, size_t i)
{
    if (options->types)
        return json_string_value(json_array_get(options->types, i));
    return f->categorical[i] ? "c" : "float";
}

int xgboost_matrix_describe_features(const struct xgboost_library *x, void *handle,
                                     bool model,
                                     const struct xgboost_matrix_options *options,
                                     const struct gbdt_features *f, struct error *err)
{
    const char **strings;
    int rc = 0;

    if (options->types && json_array_size(options->types) != f->n)
        return error_set(err, RAYTRAIN_EINVAL,
                         "dmatrix_params.feature_types: there are %zu types, but %zu "
                         "features",
                         json_array_size(options->types), f->n);
    strings = calloc(f->n + 1, sizeof *strings);
    if (!strings)
        return error_no_memory(err);
    for (size_t i = 0; f->names && i < f->n; i++)
        strings[i] = f->names[i];
    if (f->names)
        rc = strings_set(x, handle, model, "feature_name", strings, f->n, err);
    if (rc == 0 && (options->types || f->categorical)) {
        for (size_t i = 0; i < f->n; i++)
            strings[i] = type_of(options, f, i);
        rc = strings_set(x, handle, model, "feature_type", strings, f->n, err);
    }
    free(strings);
    return rc;
}
