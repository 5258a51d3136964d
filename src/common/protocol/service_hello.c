/* service_hello.c - the first message of a worker of a service (service_wire.h). */
#include "protocol/service_wire.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "util/api_names.h"

static const char *const column_kinds[] = {
    [SERVICE_NUMBERS] = "numbers", [SERVICE_TEXT] = "text"};

/* ---- Write ---- */

static json_t *column_json(const struct service_column *c)
{
    json_t *shape;

    if (c->kind == SERVICE_TEXT)
        return json_pack("{s:s, s:s}", "name", c->name, "kind", column_kinds[c->kind]);
    shape = json_array();
    for (int i = 0; i < c->row.ndim; i++)
        json_array_append_new(shape, json_integer((json_int_t)c->row.shape[i]));
    return json_pack("{s:s, s:s, s:s, s:o}", "name", c->name, "kind",
                     column_kinds[c->kind], "dtype", raytrain_dtype_name(c->row.dtype),
                     "shape", shape);
}

static json_t *columns_json(const struct service_column columns[], size_t n,
                            struct error *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, column_json(&columns[i])) < 0) {
            json_decref(list);
            error_set(err, RAYTRAIN_EINVAL,
                      "column \"%s\" cannot be one of a service: its name is not "
                      "UTF-8",
                      columns[i].name);
            return NULL;
        }
    if (!list)
        error_no_memory(err);
    return list;
}

static json_t *missing_json(const struct service_hello *hello, struct error *err)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < hello->n_missing; i++)
        if (json_array_append_new(list, json_string(hello->missing[i])) < 0) {
            json_decref(list);
            error_set(err, RAYTRAIN_EINVAL,
                      "a text that means a missing value is not UTF-8");
            return NULL;
        }
    if (!list)
        error_no_memory(err);
    return list;
}

static json_t *hello_json(const struct service_hello *hello, struct error *err)
{
    json_t *inputs = columns_json(hello->inputs, hello->n_inputs, err), *outputs = NULL,
           *missing = NULL, *all;

    if (inputs)
        outputs = columns_json(hello->outputs, hello->n_outputs, err);
    if (outputs)
        missing = missing_json(hello, err);
    if (!missing) {
        json_decref(inputs);
        json_decref(outputs);
        return NULL;
    }
    all = json_pack("{s:i, s:I, s:I, s:I, s:o, s:o, s:o}", "protocol", SERVICE_PROTOCOL,
                    "version", (json_int_t)hello->version, "pid",
                    (json_int_t)hello->pid, "batch", (json_int_t)hello->batch, "inputs",
                    inputs, "outputs", outputs, "missing", missing);
    if (!all) {
        error_no_memory(err);
        return NULL;
    }
    /* A path that is not UTF-8 is left out. */
    if (hello->checkpoint)
        json_object_set_new(all, "checkpoint", json_string(hello->checkpoint));
    return all;
}

int service_hello_write(const struct service_hello *hello, char **text, size_t *n,
                        struct error *err)
{
    json_t *all = hello_json(hello, err);

    if (!all)
        return -1;
    *text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    if (!*text)
        return error_no_memory(err);
    *n = strlen(*text);
    if (*n <= SERVICE_TEXT_MAX)
        return 0;
    free(*text);
    *text = NULL;
    return error_set(err, RAYTRAIN_EFIT,
                     "%zu inputs and %zu outputs are too many for a service",
                     hello->n_inputs, hello->n_outputs);
}

/* ---- Read ---- */

static int hello_wrong(const char *what, struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "the first message of a worker of the service is damaged: %s",
                     what);
}

static int row_read(const json_t *column, struct service_column *c, struct error *err)
{
    const char *dtype = json_string_value(json_object_get(column, "dtype"));
    const json_t *shape = json_object_get(column, "shape");

    c->row.dtype = dtype ? dtype_of_name(dtype) : 0;
    if (c->row.dtype == 0 || !json_is_array(shape) ||
        json_array_size(shape) >= RAYTRAIN_MAX_DIMS)
        return hello_wrong("a column has no dtype or no shape", err);
    for (size_t i = 0; i < json_array_size(shape); i++) {
        json_int_t extent = json_integer_value(json_array_get(shape, i));

        if (extent <= 0)
            return hello_wrong("an extent of a shape is not a positive integer", err);
        c->row.shape[c->row.ndim++] = (uint64_t)extent;
    }
    return service_row_bytes(c) > 0 ? 0
                                    : hello_wrong("a row of a column is too long", err);
}

static int column_read(const json_t *column, struct service_column *c,
                       struct error *err)
{
    const char *kind = json_string_value(json_object_get(column, "kind"));
    const json_t *name = json_object_get(column, "name");
    size_t n = json_string_length(name);

    if (n == 0 || n > RAYTRAIN_NAME_MAX || strlen(json_string_value(name)) != n)
        return hello_wrong("a column has no name", err);
    strcpy(c->name, json_string_value(name));
    if (kind && strcmp(kind, column_kinds[SERVICE_TEXT]) == 0) {
        c->kind = SERVICE_TEXT;
        return 0;
    }
    if (kind && strcmp(kind, column_kinds[SERVICE_NUMBERS]) == 0)
        return row_read(column, c, err);
    return hello_wrong("a column is neither of numbers nor of text", err);
}

static bool name_is_there(const struct service_column columns[], size_t n,
                          const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(columns[i].name, name) == 0)
            return true;
    return false;
}

static int columns_read(const json_t *list, struct service_column **columns, size_t *n,
                        struct error *err)
{
    size_t count = json_array_size(list);

    if (count == 0 || count > SERVICE_COLUMNS)
        return hello_wrong("it has no columns, or too many", err);
    *columns = calloc(count, sizeof **columns);
    if (!*columns)
        return error_no_memory(err);
    for (*n = 0; *n < count; ++*n) {
        struct service_column *c = *columns + *n;

        if (column_read(json_array_get(list, *n), c, err) < 0)
            return -1;
        if (name_is_there(*columns, *n, c->name))
            return hello_wrong("two columns have the same name", err);
    }
    return 0;
}

static int missing_read(const json_t *list, struct service_hello *hello,
                        struct error *err)
{
    size_t n = json_array_size(list);

    hello->missing = calloc(n + 1, sizeof *hello->missing);
    if (!hello->missing)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *text = json_array_get(list, i);

        if (!json_is_string(text))
            return hello_wrong("a text that means a missing value is not a text", err);
        hello->missing[i] = strdup(json_string_value(text));
        if (!hello->missing[i])
            return error_no_memory(err);
        hello->n_missing++;
    }
    return 0;
}

static int hello_take(const json_t *all, struct service_hello *hello, struct error *err)
{
    const json_t *version = json_object_get(all, "version"),
                 *checkpoint = json_object_get(all, "checkpoint"),
                 *batch = json_object_get(all, "batch"),
                 *protocol = json_object_get(all, "protocol");

    if (!json_is_integer(protocol))
        return hello_wrong("it does not say which protocol it speaks", err);
    if (json_integer_value(protocol) != SERVICE_PROTOCOL)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "a worker of the service speaks version %lld of their "
                         "protocol, and this program version %d: start both from one "
                         "installation",
                         (long long)json_integer_value(protocol), SERVICE_PROTOCOL);
    if (!json_is_integer(version) || json_integer_value(batch) < 0)
        return hello_wrong("its numbers are invalid", err);
    hello->version = json_integer_value(version);
    hello->pid = json_integer_value(json_object_get(all, "pid"));
    hello->batch = (uint64_t)json_integer_value(batch);
    if (json_is_string(checkpoint)) {
        hello->checkpoint = strdup(json_string_value(checkpoint));
        if (!hello->checkpoint)
            return error_no_memory(err);
    }
    if (columns_read(json_object_get(all, "inputs"), &hello->inputs, &hello->n_inputs,
                     err) < 0 ||
        missing_read(json_object_get(all, "missing"), hello, err) < 0)
        return -1;
    return columns_read(json_object_get(all, "outputs"), &hello->outputs,
                        &hello->n_outputs, err);
}

int service_hello_read(const void *text, size_t n, struct service_hello *hello,
                       struct error *err)
{
    json_error_t why;
    json_t *all;
    int rc;

    *hello = (struct service_hello){.checkpoint = NULL};
    all = n > 0 ? json_loadb(text, n, JSON_REJECT_DUPLICATES, &why) : NULL;
    rc = json_is_object(all) ? hello_take(all, hello, err)
                             : hello_wrong("it is not a JSON object", err);
    json_decref(all);
    if (rc < 0)
        service_hello_clear(hello);
    return rc;
}

void service_hello_clear(struct service_hello *hello)
{
    free(hello->checkpoint);
    free(hello->inputs);
    free(hello->outputs);
    for (size_t i = 0; i < hello->n_missing; i++)
        free(hello->missing[i]);
    free(hello->missing);
    *hello = (struct service_hello){.checkpoint = NULL};
}
