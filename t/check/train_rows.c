/*
 * train_rows.c - a training function that writes the rows of a dataset that it gets to a
 * file, PREFIX.RANK, as COLUMN=VALUE,..., or COLUMN=INDEX:VALUE,... of sparse vectors. It reads train_loop_config.epochs epochs, and
 * reports a checkpoint after each.
 */
#include <inttypes.h>
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int train_func(raytrain_context *ctx);

static double element(const raytrain_tensor *t, size_t i)
{
    switch (t->dtype) {
    case RAYTRAIN_FLOAT32:
        return ((const float *)t->data)[i];
    case RAYTRAIN_FLOAT64:
        return ((const double *)t->data)[i];
    case RAYTRAIN_INT32:
        return ((const int32_t *)t->data)[i];
    case RAYTRAIN_INT64:
        return (double)((const int64_t *)t->data)[i];
    case RAYTRAIN_UINT8:
        return ((const uint8_t *)t->data)[i];
    default:
        return -1;
    }
}

static int vector_print(raytrain_dataset *ds, uint64_t row, const char *name, FILE *out)
{
    raytrain_ragged r;

    if (raytrain_dataset_ragged(ds, name, &r) || !r.indices)
        return -1;
    for (uint64_t k = r.offsets[row]; k < r.offsets[row + 1]; k++) {
        const raytrain_tensor t = {.data = (void *)(uintptr_t)r.values,
                                   .dtype = r.dtype};

        fprintf(out, "%s%u:%.17g", k > r.offsets[row] ? "," : "", r.indices[k],
                element(&t, k));
    }
    return 0;
}

static int value_print(raytrain_dataset *ds, uint64_t row, const char *name, FILE *out)
{
    raytrain_tensor t;
    size_t width = 1;
    int rc = raytrain_dataset_column(ds, name, &t);

    if (rc == RAYTRAIN_ETYPE)
        return vector_print(ds, row, name, out);
    if (rc)
        return -1;
    for (int d = 1; d < t.ndim; d++)
        width *= t.shape[d];
    for (size_t k = 0; k < width; k++)
        fprintf(out, "%s%.17g", k ? "," : "", element(&t, row * width + k));
    return 0;
}

static int row_print(raytrain_dataset *ds, uint64_t row, char *const *names, int n,
                     FILE *out)
{
    for (int i = 0; i < n; i++) {
        fprintf(out, "%s%s=", i ? " " : "", names[i]);
        if (value_print(ds, row, names[i], out))
            return -1;
    }
    putc('\n', out);
    return 0;
}

static int epoch_print(raytrain_dataset *ds, char *const *names, int n, FILE *out)
{
    uint64_t rows;
    int rc;

    while ((rc = raytrain_dataset_next(ds, &rows)) == RAYTRAIN_OK)
        for (uint64_t row = 0; row < rows; row++)
            if (row_print(ds, row, names, n, out))
                return -1;
    return rc == RAYTRAIN_END ? 0 : -1;
}

/* The arguments: PREFIX DATASET COLUMN... */
int train_func(raytrain_context *ctx)
{
    raytrain_metric metric = {"rows", 0};
    raytrain_dataset *ds;
    int64_t epochs = 1;
    char path[4096], **argv;
    int argc = raytrain_args(ctx, &argv);
    FILE *out;

    ds = argc > 1 ? raytrain_get_dataset_shard(ctx, argv[1]) : NULL;
    if (!ds || raytrain_dataset_set_batch_size(ds, 2))
        return 1;
    metric.value = (double)raytrain_dataset_rows(ds);
    snprintf(path, sizeof path, "%s.%d", argv[0], raytrain_rank(ctx));
    out = fopen(path, "w");
    raytrain_config_int(ctx, "epochs", 1, &epochs);
    if (!out)
        return 1;
    for (int64_t i = 0; i < epochs; i++)
        if (epoch_print(ds, argv + 2, argc - 2, out) ||
            raytrain_report(ctx, &metric, 1, raytrain_checkpoint_create(ctx)))
            return 1;
    return fclose(out) == 0 ? 0 : 1;
}
