/*
 * scaling.c - applies (value - shift) / scale and its inverse. The scalers choose shift
 * and scale.
 */
#include "preprocess/scaling.h"

#include <stdlib.h>
#include <string.h>

struct scaling {
    size_t width;
    /* width + REALS_BLOCK numbers each. Those of a row are repeated, so that a block of
     * elements has adjacent ones, at whichever element it begins. */
    double *shift, *scale;
    double numbers[];
};

struct fitted_item *scaling_item(struct preprocessor *p, const struct frame_column *c,
                                 const char *name, struct error *err)
{
    return fitted_add(&p->fitted, c->name, name, FITTED_REALS, c->row.ndim,
                      c->row.shape, err);
}

int scaling_find(const struct column_plan *plan, const struct frame_column *in,
                 const char *name, const double **values, struct error *err)
{
    if (reals_check(plan->p->ops->name, in, err) < 0)
        return -1;
    if (fitted_reals(&plan->p->fitted, plan->p->config->columns[plan->source], name,
                     reals_width(in), values, err) < 0)
        return error_prefix(err, "%s", plan->p->ops->name);
    return 0;
}

void scaling_type(struct column_plan *plan, const struct frame_column *in)
{
    plan->like.kind = in->kind;
    plan->like.row.dtype = reals_result(in->row.dtype);
    plan->in_place = plan->like.row.dtype == in->row.dtype;
}

int scaling_plan(struct column_plan *plan, const struct frame_column *in,
                 const double *shift, const double *scale, const double *from,
                 struct error *err)
{
    size_t width = reals_width(in), n = width + REALS_BLOCK;
    struct scaling *s = malloc(sizeof *s + 2 * n * sizeof *s->numbers);

    if (!s)
        return error_no_memory(err);
    s->width = width;
    s->shift = s->numbers;
    s->scale = s->numbers + n;
    for (size_t i = 0; width > 0 && i < n; i++) {
        size_t j = i % width;

        s->shift[i] = shift ? shift[j] : 0;
        s->scale[i] = scale[j] - (from ? from[j] : 0);
        if (s->scale[i] == 0)
            s->scale[i] = 1;
    }
    plan->state = s;
    scaling_type(plan, in);
    return 0;
}

static void block_scale(size_t n, double *restrict x, const double *restrict shift,
                        const double *restrict scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - shift[i]) / scale[i];
}

/* Scale the stored elements of sparse vectors. */
static int sparse_map(const struct scaling *s, const struct frame_column *in,
                      uint64_t rows, struct frame_column *out, struct error *err)
{
    uint64_t n = rows > 0 ? in->offsets[rows] : 0;
    double x;

    if (in != out) {
        if (frame_reserve(out, rows, n, err) < 0)
            return -1;
        out->offsets[0] = 0;
        for (uint64_t row = 0; row < rows; row++)
            out->offsets[row + 1] = in->offsets[row + 1];
        memcpy(out->indices, in->indices, (size_t)n * sizeof *in->indices);
        out->n_data = n;
    }
    for (uint64_t k = 0; k < n; k++) {
        reals_load(in, (size_t)k, 1, &x);
        x = (x - s->shift[in->indices[k]]) / s->scale[in->indices[k]];
        reals_store(out, (size_t)k, 1, &x);
    }
    return 0;
}

int scaling_map(const struct column_plan *plan, const struct frame_column *in,
                uint64_t rows, struct frame_column *out, struct error *err)
{
    const struct scaling *s = plan->state;
    size_t n = (size_t)rows * s->width;
    double x[REALS_BLOCK];

    if (in->kind == FRAME_SPARSE)
        return sparse_map(s, in, rows, out, err);
    for (size_t done = 0, step; done < n; done += step) {
        size_t lane = done % s->width;

        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        reals_load(in, done, step, x);
        block_scale(step, x, s->shift + lane, s->scale + lane);
        reals_store(out, done, step, x);
    }
    return 0;
}
