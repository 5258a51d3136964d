/*
 * scaler.c - standard_scaler, min_max_scaler and max_abs_scaler: (value - shift) /
 * scale for each element of a row. A constant column becomes zeros, as in Ray;
 * max_abs_scaler does not change a column of zeros. Missing values stay missing.
 */
#include <math.h>
#include <stdlib.h>

#include "preprocess/extremes.h"
#include "preprocess/moments.h"
#include "preprocess/scaling.h"

/* ---- standard_scaler ---- */

static int standard_begin(const struct preprocessor *p, void *fit,
                          const struct frame_column *c, struct error *err)
{
    if (reals_check(p->ops->name, c, err) < 0)
        return -1;
    return moments_create(fit, reals_width(c), err);
}

static int standard_rows(const struct preprocessor *p, void *fit,
                         const struct frame_column *c, uint64_t rows, struct error *err)
{
    (void)p, (void)err;
    moments_add(fit, c, rows);
    return 0;
}

static int standard_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                        struct comm *comm, bool *again, struct error *err)
{
    struct moments *m = fit;
    struct fitted_item *mean, *std;

    *again = false;
    if (moments_reduce(m, comm, err) < 0 || !(mean = scaling_item(p, c, "mean", err)))
        return -1;
    for (size_t j = 0; j < m->width; j++)
        mean->reals[j] = m->of[j].n > 0 ? m->of[j].mean : NAN;
    if (!(std = scaling_item(p, c, "std", err)))
        return -1;
    for (size_t j = 0; j < m->width; j++) {
        double n = m->of[j].n - p->config->ddof;

        std->reals[j] = n > 0 ? sqrt(m->of[j].m2 / n) : NAN;
    }
    return 0;
}

static void standard_free(void *fit)
{
    moments_free(fit);
}

static int standard_plan(struct column_plan *plan, const struct frame_column *in,
                         struct error *err)
{
    const double *mean, *std;

    if (scaling_find(plan, in, "mean", &mean, err) < 0 ||
        scaling_find(plan, in, "std", &std, err) < 0)
        return -1;
    return scaling_plan(plan, in, mean, std, NULL, err);
}

const struct preprocessor_ops preprocessor_standard_scaler = {
    .name = "standard_scaler",
    .fit_size = sizeof(struct moments),
    .fit_begin = standard_begin,
    .fit_rows = standard_rows,
    .fit_end = standard_end,
    .fit_free = standard_free,
    .plan = standard_plan,
    .map = scaling_map,
};

/* ---- min_max_scaler ---- */

static int extremes_begin(const struct preprocessor *p, void *fit,
                          const struct frame_column *c, struct error *err)
{
    if (reals_check(p->ops->name, c, err) < 0)
        return -1;
    return extremes_create(fit, reals_width(c), err);
}

static int extremes_rows(const struct preprocessor *p, void *fit,
                         const struct frame_column *c, uint64_t rows, struct error *err)
{
    (void)p, (void)err;
    extremes_add(fit, c, rows);
    return 0;
}

static int min_max_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                       struct comm *comm, bool *again, struct error *err)
{
    struct extremes *e = fit;
    struct fitted_item *item;

    *again = false;
    if (extremes_reduce(e, comm, err) < 0 || !(item = scaling_item(p, c, "min", err)))
        return -1;
    for (size_t j = 0; j < e->width; j++)
        item->reals[j] = e->min[j] <= e->max[j] ? e->min[j] : NAN;
    if (!(item = scaling_item(p, c, "max", err)))
        return -1;
    for (size_t j = 0; j < e->width; j++)
        item->reals[j] = e->min[j] <= e->max[j] ? e->max[j] : NAN;
    return 0;
}

static void extremes_end(void *fit)
{
    extremes_free(fit);
}

static int min_max_plan(struct column_plan *plan, const struct frame_column *in,
                        struct error *err)
{
    const double *min, *max;

    if (scaling_find(plan, in, "min", &min, err) < 0 ||
        scaling_find(plan, in, "max", &max, err) < 0)
        return -1;
    return scaling_plan(plan, in, min, max, min, err);
}

const struct preprocessor_ops preprocessor_min_max_scaler = {
    .name = "min_max_scaler",
    .fit_size = sizeof(struct extremes),
    .fit_begin = extremes_begin,
    .fit_rows = extremes_rows,
    .fit_end = min_max_end,
    .fit_free = extremes_end,
    .plan = min_max_plan,
    .map = scaling_map,
};

/* ---- max_abs_scaler, also for sparse vectors, whose zeros stay zeros ---- */

static int max_abs_begin(const struct preprocessor *p, void *fit,
                         const struct frame_column *c, struct error *err)
{
    if (c->kind != FRAME_SPARSE && reals_check(p->ops->name, c, err) < 0)
        return -1;
    return extremes_create(fit, reals_width(c), err);
}

static int max_abs_rows(const struct preprocessor *p, void *fit,
                        const struct frame_column *c, uint64_t rows, struct error *err)
{
    struct extremes *e = fit;
    double x;

    (void)p, (void)err;
    if (c->kind != FRAME_SPARSE) {
        extremes_add(e, c, rows);
        return 0;
    }
    for (uint64_t k = 0; rows > 0 && k < c->offsets[rows]; k++) {
        uint32_t j = c->indices[k];

        reals_load(c, (size_t)k, 1, &x);
        e->min[j] = x < e->min[j] ? x : e->min[j];
        e->max[j] = x > e->max[j] ? x : e->max[j];
    }
    return 0;
}

static int max_abs_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                       struct comm *comm, bool *again, struct error *err)
{
    struct extremes *e = fit;
    struct fitted_item *item;
    double none = c->kind == FRAME_SPARSE ? 0 : NAN;

    *again = false;
    if (extremes_reduce(e, comm, err) < 0 ||
        !(item = scaling_item(p, c, "abs_max", err)))
        return -1;
    for (size_t j = 0; j < e->width; j++)
        item->reals[j] =
            e->min[j] <= e->max[j] ? fmax(fabs(e->min[j]), fabs(e->max[j])) : none;
    return 0;
}

static int max_abs_plan(struct column_plan *plan, const struct frame_column *in,
                        struct error *err)
{
    const double *max;

    if ((in->kind != FRAME_SPARSE && reals_check("max_abs_scaler", in, err) < 0) ||
        fitted_reals(&plan->p->fitted, plan->p->config->columns[plan->source],
                     "abs_max", reals_width(in), &max, err) < 0)
        return -1;
    return scaling_plan(plan, in, NULL, max, NULL, err);
}

const struct preprocessor_ops preprocessor_max_abs_scaler = {
    .name = "max_abs_scaler",
    .fit_size = sizeof(struct extremes),
    .fit_begin = max_abs_begin,
    .fit_rows = max_abs_rows,
    .fit_end = max_abs_end,
    .fit_free = extremes_end,
    .plan = max_abs_plan,
    .map = scaling_map,
};
