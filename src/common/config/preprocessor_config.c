/*
 * preprocessor_config.c - one preprocessor of the configuration, and the list of them, by
 * the rows of their kinds. The worker's preprocess room applies them.
 */
#include "config/preprocessor_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_key.h"
#include "util/quote.h"
#include "util/suggest.h"

/* ---- One preprocessor ---- */

static void kind_defaults(struct preprocessor_config *cfg, int kind)
{
    *cfg = (struct preprocessor_config){
        .kind = kind, .quantile_range = {0.25, 0.75}, .norm = NORM_L2, .right = true};
}

static void clear(struct preprocessor_config *cfg)
{
    config_clear(&preprocessor_rows[cfg->kind].keys, cfg);
}

static bool listed(char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static int check_columns(const struct preprocessor_config *cfg,
                         const struct preprocessor_row *row,
                         const struct config_node *node,
                         const struct config_where *where)
{
    const struct config_key *first = &row->keys.keys[0];
    char quoted[QUOTE_TEXT_MAX];

    if (cfg->n_columns == 0 && !row->any_columns)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           first->type == CONFIG_STRINGS
                               ? "it has no columns; add %s = [\"NAME\"]"
                               : "it has no columns; add %s = \"NAME\"",
                           first->name);
    for (size_t i = 0; i < cfg->n_columns; i++)
        if (listed(cfg->columns, i, cfg->columns[i]))
            return config_fail(where, node, RAYTRAIN_EINVAL, "columns has %s twice",
                               quote(cfg->columns[i], quoted));
    if (cfg->n_output_columns > 0 && cfg->n_output_columns != cfg->n_columns)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "output_columns has %zu names and columns %zu",
                           cfg->n_output_columns, cfg->n_columns);
    for (size_t i = 0; i < cfg->n_output_columns; i++)
        if (listed(cfg->output_columns, i, cfg->output_columns[i]) ||
            strlen(cfg->output_columns[i]) > RAYTRAIN_NAME_MAX)
            return config_fail(where, node, RAYTRAIN_EINVAL,
                               "output_columns: %s is there twice, or is too long",
                               quote(cfg->output_columns[i], quoted));
    return 0;
}

static int check_max_categories(const struct preprocessor_config *cfg,
                                const struct config_node *node,
                                const struct config_where *where)
{
    char quoted[QUOTE_TEXT_MAX];

    for (size_t i = 0; i < cfg->max_categories.n; i++) {
        const struct column_numbers *of = &cfg->max_categories.of[i];

        if (of->n != 1 || of->list || of->values[0] < 1 ||
            of->values[0] != floor(of->values[0]))
            return config_fail(where, node, RAYTRAIN_EINVAL,
                               "max_categories is a positive integer, or one for each "
                               "column, { NAME = 10; }");
        if (of->column && !listed(cfg->columns, cfg->n_columns, of->column))
            return config_fail(where, node, RAYTRAIN_EINVAL,
                               "max_categories names %s, which is not one of its "
                               "columns",
                               quote(of->column, quoted));
    }
    return 0;
}

static int check(const struct preprocessor_config *cfg, const struct config_node *node,
                 const struct config_where *where)
{
    const struct preprocessor_row *row = &preprocessor_rows[cfg->kind];

    if (check_columns(cfg, row, node, where) || check_max_categories(cfg, node, where))
        return -1;
    return row->check ? row->check(cfg, node, where) : 0;
}

/* ---- The list ---- */

static int list_add(struct preprocessors_config *cfg, const struct config_node *list,
                    const struct config_where *where);

static int kind_find(const struct config_node *node, const struct config_where *where)
{
    const char *near, *names[PREPROCESSOR_KINDS];
    char quoted[QUOTE_TEXT_MAX];

    for (int kind = 0; kind < PREPROCESSOR_KINDS; kind++) {
        names[kind] = preprocessor_rows[kind].name;
        if (!strcmp(names[kind], node->name))
            return kind;
    }
    near = suggest_nearest(node->name, names, PREPROCESSOR_KINDS);
    return config_fail(where, node, RAYTRAIN_EINVAL,
                       "there is no preprocessor %s%s%s%s", quote(node->name, quoted),
                       near ? "; did you mean \"" : "", near ? near : "",
                       near ? "\"?" : "");
}

/* A relative path is relative to the directory of the process that reads it first. */
static int library_complete(struct preprocessor_config *cfg,
                            const struct config_where *where)
{
    return cfg->library && path_make_absolute(&cfg->library, where->err) ? -1 : 0;
}

static int kind_add(struct preprocessors_config *cfg, const struct config_node *node,
                    const struct config_where *where)
{
    struct preprocessor_config *grown;
    int kind = kind_find(node, where);

    if (kind < 0)
        return -1;
    if (node->type != NODE_GROUP)
        return config_expected(where, node, "a group, { columns = [\"NAME\"]; }", NULL);
    grown = reallocarray(cfg->list, cfg->n + 1, sizeof *grown);
    if (!grown)
        return config_fail_memory(where);
    cfg->list = grown;
    kind_defaults(&grown[cfg->n], kind);
    return config_apply(&preprocessor_rows[kind].keys, &grown[cfg->n++], node, where) ||
                   check(&grown[cfg->n - 1], node, where) ||
                   library_complete(&grown[cfg->n - 1], where)
               ? -1
               : 0;
}

/* { type = "NAME"; ... }: the group is NAME's. */
static int typed_add(struct preprocessors_config *cfg, const struct config_node *item,
                     size_t type, const struct config_where *where)
{
    struct config_where here = config_where_below(where, item->items[type].string);
    struct config_node *rest = calloc(item->n_items, sizeof *rest);
    struct config_node group = *item;
    int rc;

    if (!rest)
        return config_fail_memory(where);
    group.name = item->items[type].string;
    group.items = rest;
    group.n_items = 0;
    for (size_t i = 0; i < item->n_items; i++)
        if (i != type)
            rest[group.n_items++] = item->items[i];
    rc = kind_add(cfg, &group, &here);
    free(rest);
    return rc;
}

static int preprocessor_item_add(struct preprocessors_config *cfg,
                                 const struct config_node *item,
                                 const struct config_where *where)
{
    for (size_t i = 0; item->type == NODE_GROUP && i < item->n_items; i++)
        if (!strcmp(item->items[i].name, "type") && item->items[i].type == NODE_STRING)
            return typed_add(cfg, item, i, where);
    if (item->type != NODE_GROUP || item->n_items != 1)
        return config_expected(where, item,
                               "a group with one preprocessor, { type = \"NAME\"; "
                               "columns = [...]; } or { NAME = { ... }; }",
                               NULL);
    item = &item->items[0];

    struct config_where here = config_where_below(where, item->name);

    if (!strcmp(item->name, "chain"))
        return list_add(cfg, item, &here);
    return kind_add(cfg, item, &here);
}

static int list_add(struct preprocessors_config *cfg, const struct config_node *list,
                    const struct config_where *where)
{
    if (list->type != NODE_ARRAY)
        return config_expected(
            where, list, "a list of preprocessors, ( { NAME = { ... }; } )", NULL);
    for (size_t i = 0; i < list->n_items; i++)
        if (preprocessor_item_add(cfg, &list->items[i], where))
            return -1;
    return 0;
}

int preprocessors_set(struct preprocessors_config *cfg, const struct config_node *node,
                      const struct config_where *where)
{
    struct preprocessors_config made = {NULL, 0};

    if (list_add(&made, node, where)) {
        preprocessors_clear(&made);
        return -1;
    }
    preprocessors_clear(cfg);
    *cfg = made;
    return 0;
}

void preprocessors_render(const struct preprocessors_config *cfg, const char *name,
                          FILE *out, int depth)
{
    if (cfg->n == 0)
        return;
    config_render_name(out, depth, name);
    fputs("(\n", out);
    for (size_t i = 0; i < cfg->n; i++) {
        const struct preprocessor_config *one = &cfg->list[i];

        fprintf(out, "%*s{ %s = {\n", 4 * (depth + 1), "",
                preprocessor_rows[one->kind].name);
        config_render(&preprocessor_rows[one->kind].keys, one, out, depth + 2);
        fprintf(out, "%*s}; }%s\n", 4 * (depth + 1), "", i + 1 < cfg->n ? "," : "");
    }
    fprintf(out, "%*s);\n", 4 * depth, "");
}

void preprocessors_clear(struct preprocessors_config *cfg)
{
    for (size_t i = 0; i < cfg->n; i++)
        clear(&cfg->list[i]);
    free(cfg->list);
    cfg->list = NULL;
    cfg->n = 0;
}
