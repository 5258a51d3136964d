/*
 * rows_config.c - the key `rows` of a dataset. The worker's data room counts the rows.
 */
#include "config/rows_config.h"

#include <string.h>

#include "config/config_key.h"

static const char doc[] = "the rows that are used, by their numbers";

static int number_set(uint64_t *value, const struct config_node *node,
                      const struct config_where *where)
{
    struct config_where here = config_where_below(where, node->name);

    if (node->type != NODE_INT || node->integer < 0)
        return config_expected(&here, node, "an integer of at least 0", doc);
    *value = (uint64_t)node->integer;
    return 0;
}

static int share_set(struct rows_step *step, const struct config_node *node,
                     const struct config_where *where)
{
    struct config_where here = config_where_below(where, node->name);
    double value = node->type == NODE_INT    ? (double)node->integer
                   : node->type == NODE_REAL ? node->real
                                             : -1;

    if (!(value >= 0 && value <= 1))
        return config_expected(&here, node, "a number from 0 to 1", doc);
    *(strcmp(node->name, "from") == 0 ? &step->from : &step->to) = value;
    step->is_share = true;
    return 0;
}

static bool is_share(const struct config_node *item)
{
    return strcmp(item->name, "from") == 0 || strcmp(item->name, "to") == 0;
}

static int step_check(const struct rows_step *step, const struct config_node *node,
                      const struct config_where *where)
{
    if (step->is_share && (step->first || step->count))
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "a step has first and count, or from and to, not both");
    if (step->is_share && step->from >= step->to)
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "a step without rows: from is less than to");
    return 0;
}

static int step_set(struct rows_step *step, const struct config_node *node,
                    const struct config_where *where)
{
    *step = (struct rows_step){.to = 1};
    if (node->type != NODE_GROUP)
        return config_expected(where, node, "{ first = A; count = N; seed = S; }", doc);
    for (size_t i = 0; i < node->n_items; i++) {
        const struct config_node *item = &node->items[i];
        uint64_t *value = strcmp(item->name, "first") == 0   ? &step->first
                          : strcmp(item->name, "count") == 0 ? &step->count
                          : strcmp(item->name, "seed") == 0  ? &step->seed
                                                             : NULL;

        if (!value && !is_share(item))
            return config_fail(where, item, RAYTRAIN_EINVAL,
                               "unknown key \"%s\" of a step; it may have first and "
                               "count, or from and to, and seed",
                               item->name);
        if (value ? number_set(value, item, where) : share_set(step, item, where))
            return -1;
        if (value == &step->seed)
            step->shuffled = true;
    }
    return step_check(step, node, where);
}

int rows_config_set(struct rows_config *rows, const struct config_node *node,
                    const struct config_where *where)
{
    if (node->type != NODE_ARRAY)
        return config_expected(where, node, "a list, ( { first = A; count = N; } )",
                               doc);
    if (node->n_items > ROWS_STEPS_MAX)
        return config_fail(where, node, RAYTRAIN_EINVAL, "more than %d steps",
                           ROWS_STEPS_MAX);
    rows->n = 0;
    for (size_t i = 0; i < node->n_items; i++)
        if (step_set(&rows->steps[rows->n++], &node->items[i], where))
            return -1;
    return 0;
}

static void step_render(const struct rows_step *step, FILE *out)
{
    fputs(step->is_share ? "from = " : "first = ", out);
    if (step->is_share)
        config_render_real(out, step->from);
    else
        config_render_integer(out, (int64_t)step->first);
    fputs(step->is_share ? "; to = " : "; count = ", out);
    if (step->is_share)
        config_render_real(out, step->to);
    else
        config_render_integer(out, (int64_t)step->count);
}

void rows_config_render(const struct rows_config *rows, const char *name, FILE *out,
                        int depth)
{
    if (rows->n == 0)
        return;
    config_render_name(out, depth, name);
    fputs("( ", out);
    for (size_t i = 0; i < rows->n; i++) {
        const struct rows_step *step = &rows->steps[i];

        fputs(i > 0 ? ", { " : "{ ", out);
        step_render(step, out);
        if (step->shuffled) {
            fputs("; seed = ", out);
            config_render_integer(out, (int64_t)step->seed);
        }
        fputs("; }", out);
    }
    fputs(" );\n", out);
}
