/* config_calls.c - look-ups in train_loop_config: dotted keys, defaults, types. */
#include "session/config_calls.h"

#include <stdlib.h>
#include <string.h>

#include "session/setting_notes.h"
#include "util/quote.h"

static const char *json_type_word(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "a group";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a floating-point number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "nothing";
    }
}

static int type_error(raytrain_context *ctx, const char *key, const char *expected,
                      const char *found)
{
    char name[QUOTE_TEXT_MAX];

    return error_set(&ctx->error, RAYTRAIN_ETYPE,
                     "train_loop_config: %s must be %s, not %s", quote(key, name),
                     expected, found);
}

/* The object's value for the first n characters of a key, or NULL. */
static json_t *part_find(json_t *object, const char *key, size_t n)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value) if (strncmp(name, key, n) == 0 &&
                                                 name[n] == '\0') return value;
    return NULL;
}

/* 1: found; 0: the key is missing; -1: a part of it is not a group. */
static int value_find(raytrain_context *ctx, const char *key, json_t **value)
{
    json_t *at = ctx->env.config->train_loop_config;
    const char *part = key;

    for (;;) {
        size_t n = strcspn(part, ".");

        if (!json_is_object(at))
            return type_error(ctx, key, "inside a group", json_type_word(at));
        at = part_find(at, part, n);
        if (!at)
            return 0;
        if (part[n] == '\0')
            break;
        part += n + 1;
    }
    *value = at;
    return 1;
}

/* What one kind of look-up expects. */
struct kind {
    const char *expected;
    bool is_array;
    bool (*fits)(const json_t *value); /* the value, or each element of the array */
};

/* The first part of every look-up; *value is NULL if the key is missing. */
static int lookup(raytrain_context *ctx, const char *call, const struct kind *kind,
                  const char *key, const void *out, json_t **value)
{
    *value = NULL;
    if (!ctx)
        return session_null(ctx, call, "context");
    if (!key)
        return session_null(ctx, call, "key");
    if (!out)
        return session_null(ctx, call, "place for the value");
    setting_asked(ctx, key);
    if (value_find(ctx, key, value) < 0)
        return session_status(ctx, -1);
    if (*value && !(kind->is_array ? json_is_array(*value) : kind->fits(*value)))
        return session_status(
            ctx, type_error(ctx, key, kind->expected, json_type_word(*value)));
    return RAYTRAIN_OK;
}

/* ---- Scalars ---- */

static bool fits_int(const json_t *value)
{
    return json_is_integer(value);
}

static bool fits_double(const json_t *value)
{
    return json_is_number(value);
}

static bool fits_bool(const json_t *value)
{
    return json_is_boolean(value);
}

static bool fits_string(const json_t *value)
{
    return json_is_string(value);
}

int raytrain_config_int(raytrain_context *ctx, const char *key, int64_t fallback,
                        int64_t *value)
{
    static const struct kind kind = {.expected = "an integer", .fits = fits_int};
    json_t *json;
    int status = lookup(ctx, __func__, &kind, key, value, &json);

    if (status == RAYTRAIN_OK)
        *value = json ? json_integer_value(json) : fallback;
    return status;
}

int raytrain_config_double(raytrain_context *ctx, const char *key, double fallback,
                           double *value)
{
    static const struct kind kind = {.expected = "a number", .fits = fits_double};
    json_t *json;
    int status = lookup(ctx, __func__, &kind, key, value, &json);

    if (status == RAYTRAIN_OK)
        *value = json ? json_number_value(json) : fallback;
    return status;
}

int raytrain_config_bool(raytrain_context *ctx, const char *key, bool fallback,
                         bool *value)
{
    static const struct kind kind = {.expected = "a boolean", .fits = fits_bool};
    json_t *json;
    int status = lookup(ctx, __func__, &kind, key, value, &json);

    if (status == RAYTRAIN_OK)
        *value = json ? json_is_true(json) : fallback;
    return status;
}

int raytrain_config_string(raytrain_context *ctx, const char *key, const char *fallback,
                           const char **value)
{
    static const struct kind kind = {.expected = "a string", .fits = fits_string};
    json_t *json;
    int status = lookup(ctx, __func__, &kind, key, value, &json);

    if (status == RAYTRAIN_OK)
        *value = json ? json_string_value(json) : fallback;
    return status;
}

/* ---- Arrays ---- */

static struct config_array *array_alloc(const json_t *source)
{
    struct config_array *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->source = source;
    a->n = json_array_size(source);
    /* An int64_t is as large as a double. One element more, so that an empty array is
     * not NULL. */
    a->values.integer = calloc(a->n + 1, sizeof *a->values.integer);
    if (!a->values.integer) {
        free(a);
        return NULL;
    }
    return a;
}

static void array_free(struct config_array *a)
{
    free(a->values.integer);
    free(a);
}

static const struct kind kind_ints = {
    .expected = "an array of integers", .is_array = true, .fits = fits_int};
static const struct kind kind_doubles = {
    .expected = "an array of numbers", .is_array = true, .fits = fits_double};

static int array_fill(raytrain_context *ctx, const struct kind *kind, const char *key,
                      const json_t *source, struct config_array *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const json_t *value = json_array_get(source, i);

        if (!kind->fits(value))
            return type_error(ctx, key, kind->expected,
                              "one that holds something else");
        if (a->integers)
            a->values.integer[i] = json_integer_value(value);
        else
            a->values.real[i] = json_number_value(value);
    }
    return 0;
}

/* The array as C numbers: converted once, returned every time. NULL: error is set. */
static struct config_array *array_get(raytrain_context *ctx, const struct kind *kind,
                                      const char *key, const json_t *source)
{
    bool integers = kind == &kind_ints;
    struct config_array *a = ctx->arrays;

    while (a && (a->source != source || a->integers != integers))
        a = a->next;
    if (a)
        return a;
    a = array_alloc(source);
    if (!a) {
        error_no_memory(&ctx->error);
        return NULL;
    }
    a->integers = integers;
    if (array_fill(ctx, kind, key, source, a) < 0) {
        array_free(a);
        return NULL;
    }
    a->next = ctx->arrays;
    ctx->arrays = a;
    return a;
}

/* *array is NULL if the key is missing. */
static int array_lookup(raytrain_context *ctx, const char *call,
                        const struct kind *kind, const char *key, const void *values,
                        const size_t *n_values, struct config_array **array)
{
    json_t *json;
    int status = lookup(ctx, call, kind, key, n_values ? values : NULL, &json);

    *array = NULL;
    if (status == RAYTRAIN_OK && json && !(*array = array_get(ctx, kind, key, json)))
        return session_status(ctx, -1);
    return status;
}

int raytrain_config_int_array(raytrain_context *ctx, const char *key,
                              const int64_t *fallback, size_t n_fallback,
                              const int64_t **values, size_t *n_values)
{
    struct config_array *array;
    int status = array_lookup(ctx, __func__, &kind_ints, key, values, n_values, &array);

    if (status != RAYTRAIN_OK)
        return status;
    *values = array ? array->values.integer : fallback;
    *n_values = array ? array->n : n_fallback;
    return RAYTRAIN_OK;
}

int raytrain_config_double_array(raytrain_context *ctx, const char *key,
                                 const double *fallback, size_t n_fallback,
                                 const double **values, size_t *n_values)
{
    struct config_array *array;
    int status =
        array_lookup(ctx, __func__, &kind_doubles, key, values, n_values, &array);

    if (status != RAYTRAIN_OK)
        return status;
    *values = array ? array->values.real : fallback;
    *n_values = array ? array->n : n_fallback;
    return RAYTRAIN_OK;
}

void session_config_clear(raytrain_context *ctx)
{
    while (ctx->arrays) {
        struct config_array *next = ctx->arrays->next;

        array_free(ctx->arrays);
        ctx->arrays = next;
    }
}
