/*
 * predictor.c - what predictors of files (file_predictor.c) and of a service
 * (serve/service_predictor.c) have in common.
 */
#include "predict/predictor.h"

void predictor_destroy(raytrain_predictor *p)
{
    raytrain_dataset *input;
    struct predicted predicted;

    if (!p)
        return;
    input = p->input;
    predicted = p->predicted;
    p->ops->destroy(p);
    predicted_clear(&predicted);
    dataset_close(input);
}

/* ---- What the predict function sets before the first batch ---- */

raytrain_dataset *predictor_dataset(raytrain_predictor *p)
{
    return p->input;
}

static int fail_late(const char *what, struct error *err)
{
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s is set before the first batch of a prediction, not after it",
                     what);
}

int predictor_output(raytrain_predictor *p, const char *name, raytrain_dtype dtype,
                     int ndim, const uint64_t shape[], struct error *err)
{
    raytrain_tensor row = {.dtype = dtype, .ndim = ndim};

    if (p->begun)
        return fail_late("an output", err);
    for (int i = 0; i < ndim && i < RAYTRAIN_MAX_DIMS; i++)
        row.shape[i] = shape[i];
    return predicted_add(&p->predicted, name, &row, false, err);
}

int predictor_set_batch_size(raytrain_predictor *p, uint64_t rows, struct error *err)
{
    if (p->begun)
        return fail_late("the batch size", err);
    if (rows == 0)
        return error_set(err, RAYTRAIN_EINVAL, "a batch has at least 1 row");
    p->batch = rows;
    return 0;
}

const char *predictor_output_at(const raytrain_predictor *p, size_t i,
                                raytrain_tensor *row)
{
    for (size_t k = 0; k < p->predicted.n; k++) {
        if (p->predicted.columns[k].kept || i-- > 0)
            continue;
        *row = p->predicted.columns[k].row;
        return p->predicted.columns[k].name;
    }
    return NULL;
}

int predictor_check(const raytrain_predictor *p, struct error *err)
{
    raytrain_tensor row;

    if (predictor_output_at(p, 0, &row))
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "there is no output: declare each output before the first batch, "
                     "with raytrain_predictor_output()");
}

/* ---- Batches ---- */

bool predictor_has_begun(const raytrain_predictor *p)
{
    return p->begun;
}

int predictor_next(raytrain_predictor *p, uint64_t *rows, struct error *err)
{
    *rows = 0;
    return p->ops->next(p, rows, err);
}

int predictor_put(raytrain_predictor *p, const char *name, const void *data,
                  struct error *err)
{
    const struct predicted_column *c = predicted_find(&p->predicted, name);

    if (!c || c->kept)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "there is no output \"%.255s\": declare it before the first "
                         "batch, with raytrain_predictor_output()",
                         name);
    if (p->rows == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "output \"%s\": there is no current batch", name);
    return p->ops->put(p, (size_t)(c - p->predicted.columns), data, err);
}

bool predictor_goes_on(const raytrain_predictor *p)
{
    return p->ops->fail != NULL;
}

int predictor_fail(raytrain_predictor *p, const struct error *why, struct error *err)
{
    if (p->ops->fail && p->rows > 0)
        return p->ops->fail(p, why, err);
    if (err != why)
        *err = *why;
    return -1;
}

int predictor_fail_early(struct error *err)
{
    return error_set(err, RAYTRAIN_EFAILED,
                     "the predict function returned before it had all batches: it "
                     "must call raytrain_predictor_next() until that returns "
                     "RAYTRAIN_END");
}

int predictor_finish(raytrain_predictor *p, struct error *err)
{
    return p->ops->finish(p, err);
}
