/* session_config.c - look-ups in train_loop_config: dotted keys, defaults, types. */
#include "worker/session.h"

#include <stdlib.h>
#include <string.h>

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

/* One step into a group: the part of the key before the dot. */
static json_t *group_get(const json_t *group, const char *part, size_t n)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)group, name, value)
    {
        if (strlen(name) == n && memcmp(name, part, n) == 0)
            return value;
    }
    return NULL;
}

/* 1: found; 0: the key is missing; -1: a part of it is no group. */
static int value_find(raytrain_context *ctx, const char *key, json_t **value)
{
    json_t *at = ctx->env.config->train_loop_config;
    const char *part = key;

    for (;;) {
        size_t n = strcspn(part, ".");

        if (!json_is_object(at))
            return type_error(ctx, key, "inside a group", json_type_word(at));
        at = group_get(at, part, n);
        if (!at)
            return 0;
        if (part[n] == '\0')
            break;
        part += n + 1;
    }
    *value = at;
    return 1;
}

/* The beginning of every look-up: what value_find() says, or a RAYTRAIN_EINVAL in *bad.
 */
static int lookup(raytrain_context *ctx, const char *call, const char *key,
                  const void *out, json_t **value, int *bad)
{
    *bad = RAYTRAIN_OK;
    if (!ctx || !ctx->env.config)
        *bad = session_null(ctx, call, "context");
    else if (!key)
        *bad = session_null(ctx, call, "key");
    else if (!out)
        *bad = session_null(ctx, call, "place for the value");
    return *bad ? -1 : value_find(ctx, key, value);
}

int raytrain_config_int(raytrain_context *ctx, const char *key, int64_t fallback,
                        int64_t *value)
{
    json_t *json = NULL;
    int bad, found = lookup(ctx, "raytrain_config_int", key, value, &json, &bad);

    if (found < 0)
        return bad ? bad : session_status(ctx, -1);
    if (found && !json_is_integer(json))
        return session_status(ctx,
                              type_error(ctx, key, "an integer", json_type_word(json)));
    *value = found ? json_integer_value(json) : fallback;
    return RAYTRAIN_OK;
}

int raytrain_config_double(raytrain_context *ctx, const char *key, double fallback,
                           double *value)
{
    json_t *json = NULL;
    int bad, found = lookup(ctx, "raytrain_config_double", key, value, &json, &bad);

    if (found < 0)
        return bad ? bad : session_status(ctx, -1);
    if (found && !json_is_number(json))
        return session_status(ctx,
                              type_error(ctx, key, "a number", json_type_word(json)));
    *value = found ? json_number_value(json) : fallback;
    return RAYTRAIN_OK;
}

int raytrain_config_bool(raytrain_context *ctx, const char *key, bool fallback,
                         bool *value)
{
    json_t *json = NULL;
    int bad, found = lookup(ctx, "raytrain_config_bool", key, value, &json, &bad);

    if (found < 0)
        return bad ? bad : session_status(ctx, -1);
    if (found && !json_is_boolean(json))
        return session_status(ctx,
                              type_error(ctx, key, "a boolean", json_type_word(json)));
    *value = found ? json_is_true(json) : fallback;
    return RAYTRAIN_OK;
}

int raytrain_config_string(raytrain_context *ctx, const char *key, const char *fallback,
                           const char **value)
{
    json_t *json = NULL;
    int bad, found = lookup(ctx, "raytrain_config_string", key, value, &json, &bad);

    if (found < 0)
        return bad ? bad : session_status(ctx, -1);
    if (found && !json_is_string(json))
        return session_status(ctx,
                              type_error(ctx, key, "a string", json_type_word(json)));
    *value = found ? json_string_value(json) : fallback;
    return RAYTRAIN_OK;
}

/* ---- Arrays -----------------------------------------------------------------------
 */

static struct config_array *array_known(raytrain_context *ctx, const json_t *source,
                                        bool integers)
{
    struct config_array *a = ctx->arrays;

    while (a && (a->source != source || a->integers != integers))
        a = a->next;
    return a;
}

static struct config_array *array_alloc(const json_t *source, bool integers)
{
    struct config_array *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->source = source;
    a->integers = integers;
    a->n = json_array_size(source);
    /* An int64_t takes the room of a double; one more, so that an empty one is not
     * NULL. */
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

/* The array as C numbers: made once, handed out each time. NULL: error is set. */
static struct config_array *array_get(raytrain_context *ctx, const char *key,
                                      const json_t *source, bool integers)
{
    const char *expected = integers ? "an array of integers" : "an array of numbers";
    struct config_array *a;

    if (!json_is_array(source)) {
        type_error(ctx, key, expected, json_type_word(source));
        return NULL;
    }
    a = array_known(ctx, source, integers);
    if (a)
        return a;
    a = array_alloc(source, integers);
    if (!a) {
        error_set(&ctx->error, RAYTRAIN_ENOMEM, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < a->n; i++) {
        const json_t *value = json_array_get(source, i);

        if (integers ? !json_is_integer(value) : !json_is_number(value)) {
            type_error(ctx, key, expected, "one of other things");
            array_free(a);
            return NULL;
        }
        if (integers)
            a->values.integer[i] = json_integer_value(value);
        else
            a->values.real[i] = json_number_value(value);
    }
    a->next = ctx->arrays;
    ctx->arrays = a;
    return a;
}

int raytrain_config_int_array(raytrain_context *ctx, const char *key,
                              const int64_t *fallback, size_t n_fallback,
                              const int64_t **values, size_t *n_values)
{
    json_t *json = NULL;
    struct config_array *array;
    int bad, found = lookup(ctx, "raytrain_config_int_array", key,
                            values && n_values ? values : NULL, &json, &bad);

    if (found < 0)
        return bad ? bad : session_status(ctx, -1);
    if (!found) {
        *values = fallback;
        *n_values = n_fallback;
        return RAYTRAIN_OK;
    }
    array = array_get(ctx, key, json, true);
    if (!array)
        return session_status(ctx, -1);
    *values = array->values.integer;
    *n_values = array->n;
    return RAYTRAIN_OK;
}

int raytrain_config_double_array(raytrain_context *ctx, const char *key,
                                 const double *fallback, size_t n_fallback,
                                 const double **values, size_t *n_values)
{
    json_t *json = NULL;
    struct config_array *array;
    int bad, found = lookup(ctx, "raytrain_config_double_array", key,
                            values && n_values ? values : NULL, &json, &bad);

    if (found < 0)
        return bad ? bad : session_status(ctx, -1);
    if (!found) {
        *values = fallback;
        *n_values = n_fallback;
        return RAYTRAIN_OK;
    }
    array = array_get(ctx, key, json, false);
    if (!array)
        return session_status(ctx, -1);
    *values = array->values.real;
    *n_values = array->n;
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
