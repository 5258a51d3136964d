/*
 * robust_scaler.c - (value - median) / (high quantile - low quantile) for each element
 * of a row. As in scikit-learn, a quantile between two values is interpolated, and a
 * difference of 0 is replaced by 1.
 */
#include "preprocess/quantiles.h"
#include "preprocess/scaling.h"

static int robust_begin(const struct preprocessor *p, void *fit,
                        const struct frame_column *c, struct error *err)
{
    double at[QUANTILES_MAX] = {p->config->quantile_range[0], 0.5,
                                p->config->quantile_range[1]};

    if (reals_check(p->ops->name, c, err) < 0)
        return -1;
    return quantiles_create(fit, reals_width(c), QUANTILES_MAX, at, err);
}

static int robust_rows(const struct preprocessor *p, void *fit,
                       const struct frame_column *c, uint64_t rows, struct error *err)
{
    (void)p, (void)err;
    quantiles_add(fit, c, rows);
    return 0;
}

static int robust_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                      struct comm *comm, bool *again, struct error *err)
{
    static const char *const names[QUANTILES_MAX] = {"low_quantile", "median",
                                                     "high_quantile"};
    struct quantiles *q = fit;

    if (quantiles_reduce(q, comm, again, err) < 0)
        return -1;
    for (size_t k = 0; !*again && k < QUANTILES_MAX; k++) {
        struct fitted_item *item = scaling_item(p, c, names[k], err);

        if (!item)
            return -1;
        for (size_t j = 0; j < q->width; j++)
            item->reals[j] = quantiles_get(q, j, k);
    }
    return 0;
}

static void robust_free(void *fit)
{
    quantiles_free(fit);
}

static int robust_plan(struct column_plan *plan, const struct frame_column *in,
                       struct error *err)
{
    const double *low, *median, *high;

    if (scaling_find(plan, in, "low_quantile", &low, err) < 0 ||
        scaling_find(plan, in, "median", &median, err) < 0 ||
        scaling_find(plan, in, "high_quantile", &high, err) < 0)
        return -1;
    return scaling_plan(plan, in, median, high, low, err);
}

const struct preprocessor_ops preprocessor_robust_scaler = {
    .name = "robust_scaler",
    .fit_size = sizeof(struct quantiles),
    .fit_begin = robust_begin,
    .fit_rows = robust_rows,
    .fit_end = robust_end,
    .fit_free = robust_free,
    .plan = robust_plan,
    .map = scaling_map,
};
