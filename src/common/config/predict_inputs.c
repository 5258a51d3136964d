/*
 * predict_inputs.c - read and check the columns of a service's rows, from the
 * configuration and from command lines.
 */
#include "config/predict_inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_key.h"
#include "util/api_names.h"
#include "util/quote.h"
#include "util/suggest.h"

/* The largest row of a column, in bytes. */
#define ROW_MAX ((uint64_t)1 << 30)

#define INPUT_DOC "a column of the rows that a service gets"
#define INPUT_FORM                                                                     \
    "NAME:DTYPE, NAME:DTYPE:SHAPE such as image:float32:28x28, or NAME:text"
#define DTYPE_NAMES (RAYTRAIN_BYTES - RAYTRAIN_FLOAT32 + 1)

/* ---- Its keys ---- */

static int dtype_fail(const char *word, const struct config_node *node,
                      const struct config_where *where)
{
    const char *names[DTYPE_NAMES], *near;
    char quoted[QUOTE_TEXT_MAX];

    for (int i = 0; i < DTYPE_NAMES; i++)
        names[i] = raytrain_dtype_name((raytrain_dtype)(RAYTRAIN_FLOAT32 + i));
    near = suggest_nearest(word, names, DTYPE_NAMES);
    return config_fail(where, node, RAYTRAIN_EINVAL,
                       "expected the type of an element, such as float32, int64 or "
                       "uint8, found %s%s%s%s",
                       quote(word, quoted), near ? "; did you mean " : "",
                       near ? near : "", near ? "?" : "");
}

static int dtype_set(void *object, const struct config_node *node,
                     const struct config_where *where)
{
    struct predict_input *in = object;

    if (node->type != NODE_STRING)
        return config_expected(where, node, "the type of an element, such as float32",
                               INPUT_DOC);
    in->row.dtype = dtype_of_name(node->string);
    return in->row.dtype ? 0 : dtype_fail(node->string, node, where);
}

static int extent_add(struct predict_input *in, int64_t extent,
                      const struct config_node *node, const struct config_where *where)
{
    if (extent <= 0 || in->row.ndim == RAYTRAIN_MAX_DIMS - 1)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "the shape of a row has at most %d extents, each at least 1",
                           RAYTRAIN_MAX_DIMS - 1);
    in->row.shape[in->row.ndim++] = (uint64_t)extent;
    return 0;
}

static int shape_set(void *object, const struct config_node *node,
                     const struct config_where *where)
{
    struct predict_input *in = object;
    bool good = node->type == NODE_ARRAY;

    for (size_t i = 0; good && i < node->n_items; i++)
        good = node->items[i].type == NODE_INT;
    if (!good)
        return config_expected(where, node, "a list of integers, such as [28, 28]",
                               "the shape of a row");
    in->row.ndim = 0;
    for (size_t i = 0; i < node->n_items; i++)
        if (extent_add(in, node->items[i].integer, node, where))
            return -1;
    return 0;
}

static const struct config_choice kinds[] = {
    {"numbers", NULL}, {"text", NULL}, {NULL, NULL}};
static const struct config_ops dtype_ops = {.set = dtype_set};
static const struct config_ops shape_ops = {.set = shape_set};

static const struct config_key input_keys[] = {
    {.name = "name",
     .doc = "the name of the column",
     .type = CONFIG_STRING,
     .offset = offsetof(struct predict_input, name)},
    {.name = "kind",
     .doc = "what its rows are",
     .type = CONFIG_WORD_BOOL,
     .offset = offsetof(struct predict_input, is_text),
     .choices = kinds},
    {.name = "dtype",
     .doc = "the type of an element",
     .type = CONFIG_CUSTOM,
     .ops = &dtype_ops},
    {.name = "shape",
     .doc = "the shape of a row",
     .type = CONFIG_CUSTOM,
     .ops = &shape_ops},
};
static const struct config_table input_table = CONFIG_TABLE(input_keys);

/* ---- One input ---- */

static bool row_fits(const raytrain_tensor *row)
{
    uint64_t bytes = raytrain_dtype_size(row->dtype);

    for (int i = 0; i < row->ndim; i++)
        if (__builtin_mul_overflow(bytes, row->shape[i], &bytes))
            return false;
    return bytes <= ROW_MAX;
}

static int input_check(const struct predict_inputs *inputs,
                       const struct predict_input *in, const struct config_node *node,
                       const struct config_where *where)
{
    bool has_type = in->row.dtype != 0 || in->row.ndim > 0;

    if (!in->name || strlen(in->name) > RAYTRAIN_NAME_MAX)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "the name of a column has 1 to %d bytes; add name = \"...\"",
                           RAYTRAIN_NAME_MAX);
    if (in->is_text && has_type)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "\"%s\" is text, which has no dtype and no shape: leave "
                           "them out",
                           in->name);
    if (!in->is_text && in->row.dtype == 0)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "\"%s\" has no dtype; add dtype = \"float32\", for example, "
                           "or kind = \"text\"",
                           in->name);
    if (!row_fits(&in->row))
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "a row of \"%s\" is larger than %" PRIu64 " bytes", in->name,
                           ROW_MAX);
    for (size_t i = 0; i < inputs->n; i++)
        if (strcmp(inputs->list[i].name, in->name) == 0)
            return config_fail(where, node, RAYTRAIN_EINVAL, "\"%s\" is there twice",
                               in->name);
    return 0;
}

/* Takes ownership of the input, even on failure. */
static int input_add(struct predict_inputs *inputs, struct predict_input *in,
                     const struct config_node *node, const struct config_where *where)
{
    struct predict_input *grown;

    if (input_check(inputs, in, node, where)) {
        config_clear(&input_table, in);
        return -1;
    }
    grown = reallocarray(inputs->list, inputs->n + 1, sizeof *grown);
    if (!grown) {
        config_clear(&input_table, in);
        return config_fail_memory(where);
    }
    grown[inputs->n++] = *in;
    inputs->list = grown;
    return 0;
}

static int input_item_add(struct predict_inputs *inputs, const struct config_node *item,
                          const struct config_where *where)
{
    struct predict_input in = {.name = NULL};
    struct config_where here = *where;

    if (item->type != NODE_GROUP)
        return config_expected(where, item,
                               "{ name = \"NAME\"; dtype = \"DTYPE\"; shape = [...]; }",
                               INPUT_DOC);
    here.all_keys = NULL; /* the keys of this group are not those of the file */
    if (config_apply(&input_table, &in, item, &here)) {
        config_clear(&input_table, &in);
        return -1;
    }
    return input_add(inputs, &in, item, where);
}

/* ---- As one text ---- */

/* 28x28 */
static int shape_parse(struct predict_input *in, const char *text,
                       const struct config_where *where)
{
    for (;;) {
        char *end;
        long extent;

        errno = 0;
        extent = strtol(text, &end, 10);
        if (*text < '0' || *text > '9' || errno || (*end != 'x' && *end != '\0'))
            return config_fail(where, NULL, RAYTRAIN_EINVAL,
                               "expected extents such as 28x28, found \"%s\"", text);
        if (extent_add(in, extent, NULL, where))
            return -1;
        if (*end == '\0')
            return 0;
        text = end + 1;
    }
}

static int type_parse(struct predict_input *in, char *type,
                      const struct config_where *where)
{
    char *shape = strchr(type, ':');

    if (shape)
        *shape++ = '\0';
    in->is_text = strcmp(type, "text") == 0;
    if (!in->is_text) {
        in->row.dtype = dtype_of_name(type);
        if (in->row.dtype == 0)
            return dtype_fail(type, NULL, where);
    }
    return shape ? shape_parse(in, shape, where) : 0;
}

int predict_inputs_add(struct predict_inputs *inputs, const char *text,
                       const char *source, struct error *err)
{
    const struct config_where where = {.source = source, .err = err};
    struct predict_input in = {.name = strdup(text)};
    char *type = in.name ? strchr(in.name, ':') : NULL, quoted[QUOTE_TEXT_MAX];
    int rc;

    if (!in.name)
        return config_fail_memory(&where);
    if (!type || type == in.name) {
        free(in.name);
        return config_fail(&where, NULL, RAYTRAIN_EINVAL,
                           "expected " INPUT_FORM "; found %s", quote(text, quoted));
    }
    *type = '\0';
    rc = type_parse(&in, type + 1, &where);
    if (rc == 0)
        return input_add(inputs, &in, NULL, &where);
    free(in.name);
    return rc;
}

/* ---- The list ---- */

int predict_inputs_set(struct predict_inputs *inputs, const struct config_node *node,
                       const struct config_where *where)
{
    struct predict_inputs made = {NULL, 0};

    if (node->type != NODE_ARRAY || node->n_items == 0)
        return config_expected(where, node,
                               "a list of columns, ( { name = \"x\"; dtype = "
                               "\"float32\"; } )",
                               "the columns of the rows that a service gets");
    for (size_t i = 0; i < node->n_items; i++)
        if (input_item_add(&made, &node->items[i], where)) {
            predict_inputs_clear(&made);
            return -1;
        }
    predict_inputs_clear(inputs);
    *inputs = made;
    return 0;
}

static void input_render(const struct predict_input *in, FILE *out)
{
    fputs("{ name = ", out);
    config_render_string(out, in->name);
    if (in->is_text) {
        fputs("; kind = \"text\"; }", out);
        return;
    }
    fprintf(out, "; dtype = \"%s\"; ", raytrain_dtype_name(in->row.dtype));
    for (int i = 0; i < in->row.ndim; i++) {
        fputs(i ? ", " : "shape = [", out);
        config_render_integer(out, (int64_t)in->row.shape[i]);
    }
    fputs(in->row.ndim ? "]; }" : "}", out);
}

void predict_inputs_render(const struct predict_inputs *inputs, const char *name,
                           FILE *out, int depth)
{
    if (inputs->n == 0)
        return;
    config_render_name(out, depth, name);
    for (size_t i = 0; i < inputs->n; i++) {
        fputs(i ? ",\n" : "(\n", out);
        fprintf(out, "%*s", 4 * (depth + 1), "");
        input_render(&inputs->list[i], out);
    }
    fputs(" );\n", out);
}

void predict_inputs_clear(struct predict_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        config_clear(&input_table, &inputs->list[i]);
    free(inputs->list);
    *inputs = (struct predict_inputs){NULL, 0};
}
