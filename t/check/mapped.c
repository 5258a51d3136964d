/*
 * mapped.c - functions for batch_mapper, and a training and a predict function for what
 * they make: the column "ratio" of a and b, without b, and the words "size".
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>

int add_ratio(raytrain_batch *batch);
int fail_late(raytrain_batch *batch);
int crash_here(raytrain_batch *batch);
int train_func(raytrain_context *ctx);
int predict_func(raytrain_context *ctx, raytrain_predictor *p);

int add_ratio(raytrain_batch *batch)
{
    static const char *const sizes[] = {"small", "large"};
    raytrain_tensor a, b;
    void *ratio;
    int32_t *size;
    int rc = raytrain_batch_column(batch, "a", &a);

    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_column(batch, "b", &b);
    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_output(batch, "ratio", RAYTRAIN_FLOAT64, 0, NULL, &ratio);
    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_output_words(batch, "size", sizes, 2, &size);
    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_remove(batch, "b");
    for (uint64_t i = 0; rc == RAYTRAIN_OK && i < raytrain_batch_rows(batch); i++) {
        double x = ((const double *)a.data)[i];

        ((double *)ratio)[i] = x / ((const double *)b.data)[i];
        size[i] = x > 20;
    }
    return rc;
}

/* When it is loaded: adds the name by which the dynamic linker knows it to a file. */
__attribute__((constructor)) static void loaded(void)
{
    static const char here[] = "";
    const char *path = getenv("MAPPED_LOADED");
    FILE *trace = path ? fopen(path, "a") : NULL;
    Dl_info self;

    if (trace && dladdr(here, &self))
        fprintf(trace, "%s\n", self.dli_fname);
    if (trace)
        fclose(trace);
}

/* A row of a = 7 is refused. */
int fail_late(raytrain_batch *batch)
{
    raytrain_tensor a;
    int rc = raytrain_batch_column(batch, "a", &a);

    for (uint64_t i = 0; rc == RAYTRAIN_OK && i < raytrain_batch_rows(batch); i++)
        if (((const double *)a.data)[i] == 7)
            rc = raytrain_batch_fail(batch, RAYTRAIN_EINVAL, "a seven");
    return rc;
}

int crash_here(raytrain_batch *batch)
{
    volatile int *nowhere = NULL;

    return raytrain_batch_rows(batch) > 0 ? *nowhere : 0;
}

static int rows_print(raytrain_dataset *ds, FILE *out)
{
    raytrain_tensor a, ratio, size;
    uint64_t rows;
    int rc;

    while ((rc = raytrain_dataset_next(ds, &rows)) == RAYTRAIN_OK) {
        if (raytrain_dataset_column(ds, "a", &a) ||
            raytrain_dataset_column(ds, "ratio", &ratio) ||
            raytrain_dataset_column(ds, "size", &size))
            return 1;
        for (uint64_t i = 0; i < rows; i++)
            fprintf(out, "%.17g %.17g %s\n", ((const double *)a.data)[i],
                    ((const double *)ratio.data)[i],
                    raytrain_dataset_word(ds, "size", ((const int32_t *)size.data)[i],
                                          NULL));
    }
    return rc == RAYTRAIN_END ? 0 : rc;
}

/* Writes PREFIX.RANK, where PREFIX is its argument. */
int train_func(raytrain_context *ctx)
{
    raytrain_metric metric = {"rows", 0};
    raytrain_dataset *ds = raytrain_get_dataset_shard(ctx, "train");
    char path[4096], **argv;
    int argc = raytrain_args(ctx, &argv), rc;
    FILE *out;

    if (argc != 1 || !ds || raytrain_dataset_set_batch_size(ds, 3))
        return raytrain_last_status(ctx) ? raytrain_last_status(ctx) : 1;
    snprintf(path, sizeof path, "%s.%d", argv[0], raytrain_rank(ctx));
    out = fopen(path, "w");
    if (!out)
        return 1;
    rc = rows_print(ds, out);
    if (fclose(out) || rc)
        return rc ? rc : 1;
    return raytrain_report(ctx, &metric, 1, raytrain_checkpoint_create(ctx));
}

int predict_func(raytrain_context *ctx, raytrain_predictor *p)
{
    raytrain_tensor ratio, size;
    uint64_t rows;
    int rc;

    (void)ctx;
    if (raytrain_predictor_output(p, "ratio", RAYTRAIN_FLOAT64, 0, NULL) ||
        raytrain_predictor_output(p, "size", RAYTRAIN_INT32, 0, NULL))
        return 1;
    while ((rc = raytrain_predictor_next(p, &rows)) == RAYTRAIN_OK)
        if (raytrain_dataset_column(raytrain_predictor_dataset(p), "ratio", &ratio) ||
            raytrain_dataset_column(raytrain_predictor_dataset(p), "size", &size) ||
            raytrain_predictor_put(p, "ratio", ratio.data) ||
            raytrain_predictor_put(p, "size", size.data))
            return 1;
    return rc == RAYTRAIN_END ? 0 : rc;
}
