/*
 * metric_calls.c - metrics that are not combined: integers, texts and vectors, which
 * are kept for the next report. Those of rank 0 are written to its line.
 */
#include <math.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "session/report_line.h"
#include "session/reports.h"
#include "session/session.h"
#include "util/api_names.h"
#include "util/quote.h"
#include "util/report_number.h"

int session_metric_name_check(const char *call, const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (!name)
        return error_set(err, RAYTRAIN_EINVAL, "%s: a metric has no name", call);
    if (!metric_name_is_valid(name))
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: %s is not a valid name for a metric: a letter or _, "
                         "then letters, digits, _ . / @ - (at most %d bytes)",
                         call, quote(name, quoted), RAYTRAIN_NAME_MAX);
    if (report_line_reserves(name))
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: every report has a \"%s\" already: choose another "
                         "name for this metric",
                         call, name);
    return 0;
}

/* Takes value, which is NULL without memory. A later value of a name replaces it. */
static int typed_set(raytrain_context *ctx, const char *call, const char *name,
                     json_t *value, struct error *err)
{
    int rc = session_metric_name_check(call, name, err);

    if (rc < 0) {
        json_decref(value);
        return -1;
    }
    if (!ctx->typed)
        ctx->typed = json_object();
    if (json_object_set_new(ctx->typed, name, value) < 0)
        return error_no_memory(err);
    return 0;
}

static int metric_text_set(raytrain_context *ctx, const char *call, const char *name,
                           const char *text, struct error *err)
{
    json_t *value;

    if (!text)
        return error_set(err, RAYTRAIN_EINVAL, "%s: the text is NULL", call);
    if (strlen(text) > RAYTRAIN_METRIC_TEXT_MAX)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: the text has %zu bytes; at most %d are kept. Write long "
                         "texts into files below raytrain_artifacts_dir()",
                         call, strlen(text), RAYTRAIN_METRIC_TEXT_MAX);
    value = json_string(text);
    if (!value)
        return error_set(err, RAYTRAIN_EINVAL, "%s: the text is not UTF-8", call);
    return typed_set(ctx, call, name, value, err);
}

static int vector_length_check(const char *call, size_t n, struct error *err)
{
    if (n > 0 && n <= RAYTRAIN_METRIC_VECTOR_MAX)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s: the vector has %zu elements; 1 to %d are allowed. Put larger "
                     "arrays into a checkpoint",
                     call, n, RAYTRAIN_METRIC_VECTOR_MAX);
}

/* ---- What a command reports ---- */

/* NaN is null, since JSON has no NaN; infinities are texts. */
static bool is_element(const json_t *value)
{
    return json_is_number(value) || json_is_null(value) || isinf(metric_value(value));
}

static json_t *element_of(double value)
{
    if (isinf(value))
        return json_string(value > 0 ? METRIC_INFINITY : "-" METRIC_INFINITY);
    return isnan(value) ? json_null() : json_real(value);
}

static int elements_check(const char *call, const char *name, const json_t *list,
                          struct error *err)
{
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one)
    {
        if (!is_element(one))
            return error_set(err, RAYTRAIN_EINVAL,
                             "%s: element %zu of metric \"%.80s\" is not a number",
                             call, i, name);
    }
    return vector_length_check(call, json_array_size(list), err);
}

int session_typed_take(raytrain_context *ctx, const char *call, const json_t *metrics,
                       struct error *err)
{
    const char *name;
    json_t *value;
    int rc = 0;

    json_object_foreach((json_t *)metrics, name, value)
    {
        if (json_is_string(value))
            rc = metric_text_set(ctx, call, name, json_string_value(value), err);
        else if (json_is_integer(value))
            rc = typed_set(ctx, call, name, json_incref(value), err);
        else if (!json_is_array(value))
            rc = error_set(err, RAYTRAIN_EINVAL,
                           "%s: metric \"%.80s\" is not a text, integer or vector",
                           call, name);
        else if ((rc = elements_check(call, name, value, err)) == 0)
            rc = typed_set(ctx, call, name, json_incref(value), err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* ---- The calls ---- */

int raytrain_set_metric_int64(raytrain_context *ctx, const char *name, int64_t value)
{
    const char *call = __func__;

    if (!ctx)
        return session_null(ctx, call, "context");
    return session_status(ctx,
                          typed_set(ctx, call, name, json_integer(value), &ctx->error));
}

int raytrain_set_metric_text(raytrain_context *ctx, const char *name, const char *text)
{
    const char *call = __func__;

    if (!ctx)
        return session_null(ctx, call, "context");
    return session_status(ctx, metric_text_set(ctx, call, name, text, &ctx->error));
}

int raytrain_set_metric_vector(raytrain_context *ctx, const char *name,
                               const double values[], size_t n)
{
    const char *call = __func__;
    json_t *list;

    if (!ctx)
        return session_null(ctx, call, "context");
    if (!values)
        return session_null(ctx, call, "vector");
    if (vector_length_check(call, n, &ctx->error) < 0)
        return session_status(ctx, -1);
    list = json_array();
    for (size_t i = 0; list && i < n; i++) {
        if (json_array_append_new(list, element_of(values[i])) == 0)
            continue;
        json_decref(list);
        list = NULL;
    }
    return session_status(ctx, typed_set(ctx, call, name, list, &ctx->error));
}
