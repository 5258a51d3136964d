/*
 * discretizer.c - uniform_kbins_discretizer and custom_kbins_discretizer: each value
 * becomes the number of its bin, as by pandas.cut() with labels=False. A missing value,
 * or one outside all bins, becomes NaN, or -1 if dtype is an integer type.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/extremes.h"
#include "preprocess/scaling.h"

/* ---- uniform_kbins_discretizer learns its edges ---- */

static int uniform_begin(const struct preprocessor *p, void *fit,
                         const struct frame_column *c, struct error *err)
{
    if (reals_check(p->ops->name, c, err) < 0)
        return -1;
    return extremes_create(fit, reals_width(c), err);
}

static int uniform_rows(const struct preprocessor *p, void *fit,
                        const struct frame_column *c, uint64_t rows, struct error *err)
{
    (void)p, (void)err;
    extremes_add(fit, c, rows);
    return 0;
}

/* A range of one value is widened on both sides, any other by 0.1% at its open end. */
static void edges_make(double min, double max, size_t n, bool right, double *edges)
{
    bool single = min == max;
    double add = (max - min) * 0.001;

    if (single) {
        min -= min != 0 ? 0.001 * fabs(min) : 0.001;
        max += max != 0 ? 0.001 * fabs(max) : 0.001;
    }
    for (size_t i = 0; i < n; i++)
        edges[i] = min + (double)i * ((max - min) / (double)n);
    edges[n] = max;
    if (!single && right)
        edges[0] -= add;
    else if (!single)
        edges[n] += add;
}

static int uniform_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                       struct comm *comm, bool *again, struct error *err)
{
    size_t n = (size_t)column_numbers_find(&p->config->bins, c->name)->values[0];
    uint64_t shape[2];
    struct extremes *e = fit;
    struct fitted_item *item;

    *again = false;
    if (extremes_reduce(e, comm, err) < 0)
        return -1;
    shape[0] = e->width;
    shape[1] = n + 1;
    item = fitted_add(&p->fitted, c->name, "bins", FITTED_REALS, 2, shape, err);
    if (!item)
        return -1;
    for (size_t j = 0; j < e->width; j++) {
        if (!(e->min[j] <= e->max[j]) || isinf(e->min[j]) || isinf(e->max[j]))
            return error_set(err, RAYTRAIN_EINVAL,
                             "%s: column \"%s\" has %s values, so there are no bins",
                             p->ops->name, c->name,
                             e->min[j] <= e->max[j] ? "infinite" : "no");
        edges_make(e->min[j], e->max[j], n, p->config->right,
                   item->reals + j * (n + 1));
    }
    return 0;
}

static void uniform_free(void *fit)
{
    extremes_free(fit);
}

/* ---- Both put values into bins ---- */

struct bins {
    size_t width, n; /* edges of each element */
    bool each;       /* each element has its own edges */
    double edges[];
};

static int bins_make(struct column_plan *plan, const struct frame_column *in, size_t n,
                     bool each, const double *edges, struct error *err)
{
    size_t width = reals_width(in), all = each ? width * n : n;
    struct bins *b = malloc(sizeof *b + (all + 1) * sizeof *b->edges);
    const char *dtype = plan->p->config->dtype;

    if (!b)
        return error_no_memory(err);
    plan->state = b;
    *b = (struct bins){.width = width, .n = n, .each = each};
    memcpy(b->edges, edges, all * sizeof *edges);
    plan->like.row.dtype = RAYTRAIN_FLOAT64;
    for (raytrain_dtype t = RAYTRAIN_FLOAT32; dtype && t < RAYTRAIN_BYTES; t++)
        if (!strcmp(raytrain_dtype_name(t), dtype))
            plan->like.row.dtype = t;
    return 0;
}

static int uniform_plan(struct column_plan *plan, const struct frame_column *in,
                        struct error *err)
{
    const char *name = plan->p->config->columns[plan->source];
    size_t n = (size_t)column_numbers_find(&plan->p->config->bins, name)->values[0];
    const double *edges;

    if (reals_check(plan->p->ops->name, in, err) < 0 ||
        fitted_reals(&plan->p->fitted, name, "bins", (n + 1) * reals_width(in), &edges,
                     err) < 0)
        return -1;
    return bins_make(plan, in, n + 1, true, edges, err);
}

static int custom_plan(struct column_plan *plan, const struct frame_column *in,
                       struct error *err)
{
    const char *name = plan->p->config->columns[plan->source];
    const struct column_numbers *edges =
        column_numbers_find(&plan->p->config->bins, name);
    struct bins *b;
    size_t kept = 1;

    if (reals_check(plan->p->ops->name, in, err) < 0 ||
        bins_make(plan, in, edges->n, false, edges->values, err) < 0)
        return -1;
    b = plan->state;
    for (size_t i = 1; i < b->n; i++)
        if (b->edges[i] != b->edges[i - 1])
            b->edges[kept++] = b->edges[i];
    b->n = kept;
    return 0;
}

/* The number of edges that are below x (right), or not above x (otherwise). */
static size_t edges_below(const double *edges, size_t n, double x, bool right)
{
    size_t low = 0;

    while (n > 0) {
        size_t half = n / 2;
        bool below = right ? edges[low + half] < x : edges[low + half] <= x;

        low = below ? low + half + 1 : low;
        n = below ? n - half - 1 : half;
    }
    return low;
}

static double bin_of(const struct preprocessor_config *config, const double *edges,
                     size_t n, double x)
{
    size_t at = edges_below(edges, n, x, config->right);

    if (config->include_lowest && x == edges[0])
        at = 1;
    return isnan(x) || at == 0 || at == n ? NAN : (double)(at - 1);
}

static int bins_map(const struct column_plan *plan, const struct frame_column *in,
                    uint64_t rows, struct frame_column *out, struct error *err)
{
    const struct bins *b = plan->state;
    size_t n = (size_t)rows * b->width;
    double x[REALS_BLOCK];

    (void)err;
    for (size_t done = 0, step; done < n; done += step) {
        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        reals_load(in, done, step, x);
        for (size_t i = 0; i < step; i++) {
            size_t element = b->each ? (done + i) % b->width : 0;

            x[i] = bin_of(plan->p->config, b->edges + element * b->n, b->n, x[i]);
        }
        reals_store(out, done, step, x);
    }
    return 0;
}

const struct preprocessor_ops preprocessor_uniform_kbins_discretizer = {
    .name = "uniform_kbins_discretizer",
    .fit_size = sizeof(struct extremes),
    .fit_begin = uniform_begin,
    .fit_rows = uniform_rows,
    .fit_end = uniform_end,
    .fit_free = uniform_free,
    .plan = uniform_plan,
    .map = bins_map,
};

const struct preprocessor_ops preprocessor_custom_kbins_discretizer = {
    .name = "custom_kbins_discretizer",
    .plan = custom_plan,
    .map = bins_map,
};
