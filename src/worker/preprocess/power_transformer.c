/*
 * power_transformer.c - the transform of Yeo and Johnson or of Box and Cox, with a
 * given power, or with the power of greatest likelihood for each element of a row.
 * Results are not scaled: put a standard_scaler after it for scikit-learn's
 * standardize=True.
 */
#include <math.h>
#include <stdlib.h>

#include "preprocess/power_fit.h"
#include "preprocess/scaling.h"

static bool power_is_given(const struct preprocessor_config *config)
{
    return config->has_power;
}

static int power_begin(const struct preprocessor *p, void *fit,
                       const struct frame_column *c, struct error *err)
{
    if (reals_check(p->ops->name, c, err) < 0)
        return -1;
    return power_fit_create(fit, p->config->method, reals_width(c), err);
}

static int power_rows(const struct preprocessor *p, void *fit,
                      const struct frame_column *c, uint64_t rows, struct error *err)
{
    (void)p;
    return power_fit_add(fit, c, rows, err);
}

static int power_end(struct preprocessor *p, void *fit, const struct frame_column *c,
                     struct comm *comm, bool *again, struct error *err)
{
    struct power_fit *f = fit;
    struct fitted_item *item;

    if (power_fit_reduce(f, comm, again, err) < 0)
        return -1;
    if (*again)
        return 0;
    item = scaling_item(p, c, "power", err);
    if (!item)
        return -1;
    for (size_t j = 0; j < f->width; j++)
        item->reals[j] = power_fit_get(f, j);
    return 0;
}

static void power_free(void *fit)
{
    power_fit_free(fit);
}

static int power_plan(struct column_plan *plan, const struct frame_column *in,
                      struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    size_t width = reals_width(in);
    const double *fitted = NULL;
    double *powers;

    if (reals_check(plan->p->ops->name, in, err) < 0 ||
        (!config->has_power && scaling_find(plan, in, "power", &fitted, err) < 0))
        return -1;
    powers = malloc((width + 1) * sizeof *powers);
    if (!powers)
        return error_no_memory(err);
    for (size_t j = 0; j < width; j++)
        powers[j] = fitted ? fitted[j] : config->power;
    plan->state = powers;
    scaling_type(plan, in);
    return 0;
}

static int power_map(const struct column_plan *plan, const struct frame_column *in,
                     uint64_t rows, struct frame_column *out, struct error *err)
{
    const double *powers = plan->state;
    size_t width = reals_width(in), n = (size_t)rows * width;
    enum power_method method = plan->p->config->method;
    double x[REALS_BLOCK];

    (void)err;
    for (size_t done = 0, step; done < n; done += step) {
        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        reals_load(in, done, step, x);
        for (size_t i = 0; i < step; i++)
            x[i] = power_transform(method, powers[(done + i) % width], x[i]);
        reals_store(out, done, step, x);
    }
    return 0;
}

const struct preprocessor_ops preprocessor_power_transformer = {
    .name = "power_transformer",
    .is_given = power_is_given,
    .fit_size = sizeof(struct power_fit),
    .fit_begin = power_begin,
    .fit_rows = power_rows,
    .fit_end = power_end,
    .fit_free = power_free,
    .plan = power_plan,
    .map = power_map,
};
