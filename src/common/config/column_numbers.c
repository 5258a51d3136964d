/*
 * column_numbers.c - read and render numbers that belong to columns.
 * preprocessor_config.c checks them.
 */
#include "config/column_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "config/config_file.h"
#include "config/config_key.h"

#define EXPECTED                                                                       \
    "a number, a list of numbers, or { NAME = ...; } with one of these per column"

const struct column_numbers *
column_numbers_find(const struct numbers_by_column *numbers, const char *column)
{
    const struct column_numbers *found = NULL;

    for (size_t i = 0; i < numbers->n; i++) {
        const char *name = numbers->of[i].column;

        if (name && !strcmp(name, column))
            return &numbers->of[i];
        if (!name)
            found = &numbers->of[i];
    }
    return found;
}

static int value_get(const struct config_node *node, double *value, const char *doc,
                     const struct config_where *where)
{
    if (node->type != NODE_INT && node->type != NODE_REAL)
        return config_expected(where, node, EXPECTED, doc);
    *value = node->type == NODE_INT ? (double)node->integer : node->real;
    return 0;
}

/* Read a number, or a list of numbers, for a column. */
static int values_get(struct column_numbers *of, const struct config_node *node,
                      const char *doc, const struct config_where *where)
{
    of->list = node->type == NODE_ARRAY;
    of->n = of->list ? node->n_items : 1;
    of->values = calloc(of->n + 1, sizeof *of->values);
    if (!of->values)
        return config_fail_memory(where);
    for (size_t i = 0; i < of->n; i++)
        if (value_get(of->list ? &node->items[i] : node, &of->values[i], doc, where))
            return -1;
    return 0;
}

static int numbered_column_add(struct numbers_by_column *numbers, const char *column,
                               const struct config_node *node, const char *doc,
                               const struct config_where *where)
{
    struct column_numbers *grown =
        reallocarray(numbers->of, numbers->n + 1, sizeof *grown);

    if (!grown)
        return config_fail_memory(where);
    numbers->of = grown;
    grown += numbers->n++;
    *grown = (struct column_numbers){.column = NULL};
    if (column && config_set_string(&grown->column, column, where))
        return -1;
    return values_get(grown, node, doc, where);
}

/* { column = "x y"; value = 4; } */
static int number_item_add(struct numbers_by_column *numbers,
                           const struct config_node *item, const char *doc,
                           const struct config_where *where)
{
    const struct config_node *column = NULL, *value = NULL;

    for (size_t i = 0; item->type == NODE_GROUP && i < item->n_items; i++) {
        if (!strcmp(item->items[i].name, "column"))
            column = &item->items[i];
        if (!strcmp(item->items[i].name, "value"))
            value = &item->items[i];
    }
    if (!column || !value || item->n_items != 2 || column->type != NODE_STRING)
        return config_expected(where, item, "{ column = \"NAME\"; value = ...; }", doc);
    return numbered_column_add(numbers, column->string, value, doc, where);
}

static int all_add(struct numbers_by_column *numbers, const struct config_node *node,
                   const char *doc, const struct config_where *where)
{
    bool groups = node->type == NODE_ARRAY && node->n_items > 0 &&
                  node->items[0].type == NODE_GROUP;

    if (node->type != NODE_GROUP && !groups)
        return numbered_column_add(numbers, NULL, node, doc, where);
    for (size_t i = 0; i < node->n_items; i++) {
        const struct config_node *item = &node->items[i];

        if (groups ? number_item_add(numbers, item, doc, where)
                   : numbered_column_add(numbers, item->name, item, doc, where))
            return -1;
    }
    return 0;
}

int numbers_by_column_set(struct numbers_by_column *numbers,
                          const struct config_node *node, const char *doc,
                          const struct config_where *where)
{
    struct numbers_by_column made = {NULL, 0};

    if (all_add(&made, node, doc, where)) {
        numbers_by_column_clear(&made);
        return -1;
    }
    numbers_by_column_clear(numbers);
    *numbers = made;
    return 0;
}

static void values_render(const struct column_numbers *of, FILE *out)
{
    if (of->list)
        fputs("( ", out);
    for (size_t i = 0; i < of->n; i++) {
        if (i > 0)
            fputs(", ", out);
        config_render_real(out, of->values[i]);
    }
    if (of->list)
        fputs(" )", out);
}

void numbers_by_column_render(const struct numbers_by_column *numbers, const char *name,
                              FILE *out, int depth)
{
    bool names = true;

    if (numbers->n == 0)
        return;
    config_render_name(out, depth, name);
    if (numbers->n == 1 && !numbers->of[0].column) {
        values_render(&numbers->of[0], out);
        fputs(";\n", out);
        return;
    }
    for (size_t i = 0; i < numbers->n; i++)
        names = names && config_file_is_name(numbers->of[i].column);
    fputs(names ? "{" : "(", out);
    for (size_t i = 0; i < numbers->n; i++) {
        if (names) {
            fprintf(out, " %s = ", numbers->of[i].column);
        } else {
            fputs(i ? ", { column = " : " { column = ", out);
            config_render_string(out, numbers->of[i].column);
            fputs("; value = ", out);
        }
        values_render(&numbers->of[i], out);
        fputs(names ? ";" : "; }", out);
    }
    fputs(names ? " };\n" : " );\n", out);
}

void numbers_by_column_clear(struct numbers_by_column *numbers)
{
    for (size_t i = 0; i < numbers->n; i++) {
        free(numbers->of[i].column);
        free(numbers->of[i].values);
    }
    free(numbers->of);
    numbers->of = NULL;
    numbers->n = 0;
}
