/*
 * normalizer.c - divides the numbers of a row, over all named columns, by their norm.
 * As in scikit-learn, a row of zeros is not changed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/scaling.h"

/* Rows that are processed at once. */
#define ROWS 256

static int output_make(const struct frame_plan *plan, struct frame *schema, size_t i,
                       struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    struct frame_column *in = frame_find(schema, config->columns[i]), like;
    char names[512];
    size_t index;

    if (!in) {
        frame_names(schema, names, sizeof names);
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "normalizer: there is no column \"%s\"; found: %s",
                         config->columns[i], names);
    }
    if (reals_check("normalizer", in, err) < 0)
        return -1;
    like = *in;
    like.row.dtype = reals_result(in->row.dtype);
    snprintf(like.name, sizeof like.name, "%s", preprocessor_output(config, i));
    in = frame_find(schema, like.name);
    if (!in)
        return frame_add(schema, &like, &index, err);
    in->kind = FRAME_NUMBERS;
    in->words = NULL;
    in->row = like.row;
    return 0;
}

static int normalizer_bind(struct frame_plan *plan, struct frame *schema,
                           struct error *err)
{
    for (size_t i = 0; i < plan->p->config->n_columns; i++)
        if (output_make(plan, schema, i, err) < 0)
            return -1;
    return 0;
}

/* Add the elements of a column to the norms of its rows. */
static void norms_add(const struct frame_column *c, size_t row, size_t rows, int norm,
                      double *norms)
{
    size_t width = reals_width(c), n = rows * width;
    double x[REALS_BLOCK];

    for (size_t done = 0, step; done < n; done += step) {
        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        reals_load(c, row * width + done, step, x);
        for (size_t i = 0; i < step; i++) {
            double *to = &norms[(done + i) / width], value = fabs(x[i]);

            if (norm == NORM_MAX)
                *to = value > *to || isnan(value) ? value : *to;
            else
                *to += norm == NORM_L1 ? value : value * value;
        }
    }
}

static void norms_divide(const struct frame_column *in, struct frame_column *out,
                         size_t row, size_t rows, const double *norms)
{
    size_t width = reals_width(in), n = rows * width;
    double x[REALS_BLOCK];

    for (size_t done = 0, step; done < n; done += step) {
        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        reals_load(in, row * width + done, step, x);
        for (size_t i = 0; i < step; i++)
            x[i] /= norms[(done + i) / width];
        reals_store(out, row * width + done, step, x);
    }
}

static void block_normalize(const struct preprocessor_config *config,
                            const struct frame *f, struct frame_column *outs,
                            size_t row, size_t rows)
{
    double norms[ROWS] = {0};

    for (size_t i = 0; i < config->n_columns; i++)
        norms_add(frame_find(f, config->columns[i]), row, rows, config->norm, norms);
    for (size_t r = 0; r < rows; r++) {
        if (config->norm == NORM_L2)
            norms[r] = sqrt(norms[r]);
        if (norms[r] == 0)
            norms[r] = 1;
    }
    for (size_t i = 0; i < config->n_columns; i++)
        norms_divide(frame_find(f, config->columns[i]), &outs[i], row, rows, norms);
}

static int outputs_reserve(const struct preprocessor_config *config,
                           const struct frame *f, struct frame_column *outs,
                           struct error *err)
{
    for (size_t i = 0; i < config->n_columns; i++) {
        const struct frame_column *in = frame_find(f, config->columns[i]);

        if (!in)
            return error_set(err, RAYTRAIN_ENOTFOUND,
                             "normalizer: there is no column \"%s\"",
                             config->columns[i]);
        outs[i] = (struct frame_column){.kind = FRAME_NUMBERS, .row = in->row};
        outs[i].row.dtype = reals_result(in->row.dtype);
        snprintf(outs[i].name, sizeof outs[i].name, "%s",
                 preprocessor_output(config, i));
        if (frame_reserve(&outs[i], f->rows, 0, err) < 0)
            return -1;
    }
    return 0;
}

static int normalizer_apply(const struct frame_plan *plan, struct frame *f,
                            struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    struct frame_column *outs = calloc(config->n_columns, sizeof *outs);
    int rc = outs ? outputs_reserve(config, f, outs, err) : error_no_memory(err);

    for (uint64_t row = 0; rc == 0 && row < f->rows; row += ROWS)
        block_normalize(config, f, outs, row,
                        f->rows - row < ROWS ? f->rows - row : ROWS);
    for (size_t i = 0; outs && i < config->n_columns; i++) {
        if (rc == 0)
            rc = frame_put(f, &outs[i], err);
        frame_column_free(&outs[i]);
    }
    free(outs);
    return rc;
}

const struct preprocessor_ops preprocessor_normalizer = {
    .name = "normalizer",
    .bind = normalizer_bind,
    .apply = normalizer_apply,
};
