/*
 * filter_config.c - the key `filter` of a dataset. The worker's data room applies it.
 */
#include "config/filter_config.h"

#include <math.h>
#include <stddef.h>

#include "config/config_key.h"

static int bound_set(double *value, bool *has, bool *is_integer, int64_t *integer,
                     const struct config_node *node, const struct config_where *where)
{
    if (node->type != NODE_INT && node->type != NODE_REAL)
        return config_expected(where, node, "a number",
                               "a bound of the column's values");
    *value = node->type == NODE_INT ? (double)node->integer : node->real;
    if (!isfinite(*value))
        return config_fail(where, node, RAYTRAIN_EINVAL,
                           "a bound is a finite number; leave it out for none");
    *has = true;
    *is_integer = node->type == NODE_INT;
    *integer = *is_integer ? node->integer : 0;
    return 0;
}

static void bound_render(double value, const int64_t *integer, const char *name,
                         FILE *out, int depth)
{
    config_render_name(out, depth, name);
    if (integer)
        config_render_integer(out, *integer);
    else
        config_render_real(out, value);
    fputs(";\n", out);
}

static int min_set(void *object, const struct config_node *node,
                   const struct config_where *where)
{
    struct filter_config *f = object;

    return bound_set(&f->min, &f->has_min, &f->min_is_integer, &f->min_integer, node,
                     where);
}

static int max_set(void *object, const struct config_node *node,
                   const struct config_where *where)
{
    struct filter_config *f = object;

    return bound_set(&f->max, &f->has_max, &f->max_is_integer, &f->max_integer, node,
                     where);
}

static void min_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct filter_config *f = object;

    if (f->has_min)
        bound_render(f->min, f->min_is_integer ? &f->min_integer : NULL, name, out,
                     depth);
}

static void max_render(const void *object, const char *name, FILE *out, int depth)
{
    const struct filter_config *f = object;

    if (f->has_max)
        bound_render(f->max, f->max_is_integer ? &f->max_integer : NULL, name, out,
                     depth);
}

static const struct config_ops min_ops = {.set = min_set, .render = min_render};
static const struct config_ops max_ops = {.set = max_set, .render = max_render};

static const struct config_key filter_keys[] = {
    {.name = "column",
     .doc = "the column whose values are looked at",
     .type = CONFIG_STRING,
     .offset = offsetof(struct filter_config, column)},
    {.name = "min", .doc = "the least value", .type = CONFIG_CUSTOM, .ops = &min_ops},
    {.name = "max",
     .doc = "the greatest value",
     .type = CONFIG_CUSTOM,
     .ops = &max_ops},
};
const struct config_table filter_config_table = CONFIG_TABLE(filter_keys);

static bool bounds_crossed(const struct filter_config *f)
{
    if (!f->has_min || !f->has_max)
        return false;
    if (f->min_is_integer && f->max_is_integer)
        return f->min_integer > f->max_integer;
    return f->min > f->max;
}

int filter_config_validate(const struct filter_config *f, struct error *err)
{
    bool bounds = f->has_min || f->has_max;

    if (!f->column && !bounds)
        return 0;
    if (!f->column)
        return error_set(err, RAYTRAIN_EINVAL,
                         "filter: it has no column; add column = \"NAME\"");
    if (!bounds)
        return error_set(err, RAYTRAIN_EINVAL,
                         "filter: it has no bound; add min or max");
    if (bounds_crossed(f))
        return error_set(err, RAYTRAIN_EINVAL,
                         "filter: no value is at least %.17g and at most %.17g", f->min,
                         f->max);
    return 0;
}
