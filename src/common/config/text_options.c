/* text_options.c - read, render and free the options of formats of text. */
#include "config/text_options.h"

#include <stdlib.h>
#include <string.h>

#include "config/config_file.h"
#include "config/dataset_config.h"
#include "config/registry.h"

/* ---- header ---- */

static int header_set(void *object, const struct config_node *node,
                      const struct config_where *where)
{
    struct dataset_config *cfg = object;

    if (node->type != NODE_BOOL)
        return config_expected(where, node, "true or false",
                               "whether the text begins with the names of columns");
    cfg->without_header = !node->boolean;
    return 0;
}

static void header_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct dataset_config *cfg = object;

    if (!cfg->without_header)
        return;
    config_render_name(out, depth, name);
    fputs("false;\n", out);
}

const struct config_ops text_header_ops = {.set = header_set, .render = header_render};

/* ---- delimiter ---- */

static int delimiter_set(void *object, const struct config_node *node,
                         const struct config_where *where)
{
    static const char doc[] = "what separates the fields of a CSV file";
    struct dataset_config *cfg = object;
    const char *text = node->raw ? node->raw : node->string;

    if ((node->type != NODE_STRING && !node->raw) || !text)
        return config_expected(where, node, "a character", doc);
    if (!strcmp(text, "\\t") || !strcmp(text, "tab"))
        text = "\t";
    if (strlen(text) != 1 || strchr("\"\r\n", text[0]) || (unsigned char)text[0] > 127)
        return config_expected(
            where, node, "one ASCII character, neither a quote nor an end of line",
            doc);
    cfg->delimiter = text[0];
    return 0;
}

static void delimiter_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct dataset_config *cfg = object;
    char text[] = {cfg->delimiter, '\0'};

    if (!cfg->delimiter)
        return;
    config_render_name(out, depth, name);
    config_render_string(out, cfg->delimiter == '\t' ? "tab" : text);
    fputs(";\n", out);
}

const struct config_ops text_delimiter_ops = {.set = delimiter_set,
                                              .render = delimiter_render};

/* ---- types ---- */

static const char *const type_names[] = {COLUMN_TYPES(REGISTRY_WORD) NULL};

static const char types_expected[] =
    "{ COLUMN = \"TYPE\"; }, or ( { column = \"COLUMN\"; type = \"TYPE\"; } )";
static const char types_doc[] = "types of columns of text: one of " COLUMN_TYPES(
    REGISTRY_ENTRY) "and for others what suits their values";

static bool type_is_known(const char *type)
{
    for (size_t i = 0; type_names[i]; i++)
        if (!strcmp(type_names[i], type))
            return true;
    return false;
}

static int type_add(struct dataset_config *cfg, const char *column,
                    const struct config_node *type, const struct config_where *where)
{
    struct dataset_type *grown, *added = NULL;

    if (type->type != NODE_STRING || !type_is_known(type->string))
        return config_expected(where, type, "the type of a column", types_doc);
    for (size_t i = 0; i < cfg->n_types; i++)
        if (!strcmp(cfg->types[i].column, column))
            return config_set_string(&cfg->types[i].type, type->string, where);
    grown = reallocarray(cfg->types, cfg->n_types + 1, sizeof *grown);
    if (!grown)
        return config_fail_memory(where);
    cfg->types = grown;
    added = &grown[cfg->n_types];
    *added = (struct dataset_type){.column = NULL};
    if (config_set_string(&added->column, column, where))
        return -1;
    if (config_set_string(&added->type, type->string, where)) {
        free(added->column);
        return -1;
    }
    cfg->n_types++;
    return 0;
}

/* { column = "x y"; type = "words"; } */
static int type_add_item(struct dataset_config *cfg, const struct config_node *item,
                         const struct config_where *where)
{
    const struct config_node *column = NULL, *type = NULL;

    for (size_t i = 0; item->type == NODE_GROUP && i < item->n_items; i++) {
        if (!strcmp(item->items[i].name, "column"))
            column = &item->items[i];
        if (!strcmp(item->items[i].name, "type"))
            type = &item->items[i];
    }
    if (!column || !type || item->n_items != 2 || column->type != NODE_STRING)
        return config_expected(where, item, types_expected, types_doc);
    return type_add(cfg, column->string, type, where);
}

static int types_set(void *object, const struct config_node *node,
                     const struct config_where *where)
{
    struct dataset_config *cfg = object;

    if (node->type != NODE_GROUP && node->type != NODE_ARRAY)
        return config_expected(where, node, types_expected, types_doc);
    for (size_t i = 0; i < node->n_items; i++) {
        const struct config_node *item = &node->items[i];
        struct config_where here = config_where_below(where, item->name);
        int rc = node->type == NODE_GROUP ? type_add(cfg, item->name, item, &here)
                                          : type_add_item(cfg, item, where);

        if (rc)
            return -1;
    }
    return 0;
}

static void types_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct dataset_config *cfg = object;

    if (cfg->n_types == 0)
        return;
    config_render_name(out, depth, name);
    fputs("( ", out);
    for (size_t i = 0; i < cfg->n_types; i++) {
        fputs(i > 0 ? ", { column = " : "{ column = ", out);
        config_render_string(out, cfg->types[i].column);
        fputs("; type = ", out);
        config_render_string(out, cfg->types[i].type);
        fputs("; }", out);
    }
    fputs(" );\n", out);
}

static void types_clear(void *object)
{
    struct dataset_config *cfg = object;

    for (size_t i = 0; i < cfg->n_types; i++) {
        free(cfg->types[i].column);
        free(cfg->types[i].type);
    }
    free(cfg->types);
    cfg->types = NULL;
    cfg->n_types = 0;
}

const struct config_ops text_types_ops = {
    .set = types_set, .render = types_render, .clear = types_clear};
