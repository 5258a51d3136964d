/*
 * attach.c - a training function that attaches files and bytes, hands memory over, puts
 * equal slabs, and reports metrics of rank 0. A resumed run, on any number of ranks,
 * finds all of it; train_loop_config.writers is the number of ranks that wrote.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <raytrain.h>

#define CELLS 1000

#define REQUIRE(condition)                                                             \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition,                \
                    raytrain_last_error(ctx));                                         \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

int train_func(raytrain_context *ctx);

static int given, released;

static void release(void *data, void *arg)
{
    released += arg == &released;
    free(data);
}

static int cells_give(raytrain_context *ctx, raytrain_checkpoint *ck, float value)
{
    float *cells = malloc(CELLS * sizeof *cells);
    raytrain_tensor t = {
        .data = cells, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {CELLS}};
    const raytrain_slab all = {.count = {CELLS}};

    REQUIRE(cells);
    for (int i = 0; i < CELLS; i++)
        cells[i] = value;
    REQUIRE(raytrain_checkpoint_give(ck, "cells", &t, &all, release, &released) == 0);
    given++;
    return 0;
}

static int file_attach(raytrain_context *ctx, raytrain_checkpoint *ck)
{
    char name[64], path[64];
    FILE *file;

    snprintf(name, sizeof name, "rank-%d/notes.txt", raytrain_rank(ctx));
    snprintf(path, sizeof path, "notes-%d", raytrain_rank(ctx));
    file = fopen(path, "w");
    REQUIRE(file && fprintf(file, "notes of rank %d\n", raytrain_rank(ctx)) > 0);
    REQUIRE(fclose(file) == 0);
    REQUIRE(raytrain_checkpoint_put_file(ck, name, path) == RAYTRAIN_OK);
    REQUIRE(remove(path) == 0); /* it has been read */
    return 0;
}

static int attach(raytrain_context *ctx, raytrain_checkpoint *ck)
{
    static const char zeros[3] = {0, 1, 0};
    int rank = raytrain_rank(ctx);

    REQUIRE(raytrain_checkpoint_put_file(ck, "x", "no/such/file") ==
            RAYTRAIN_ENOTFOUND);
    REQUIRE(raytrain_checkpoint_put_file(ck, "x", "/dev/null") != RAYTRAIN_OK);
    REQUIRE(raytrain_checkpoint_put_bytes(ck, NULL, zeros, 1) == RAYTRAIN_EINVAL);
    REQUIRE(raytrain_checkpoint_put_bytes(NULL, "x", zeros, 1) == RAYTRAIN_EINVAL);
    if (rank == raytrain_world_size(ctx) - 1)
        REQUIRE(raytrain_checkpoint_put_bytes(ck, "three", zeros, 3) == RAYTRAIN_OK);
    return rank == 0 ? 0 : file_attach(ctx, ck);
}

static int report(raytrain_context *ctx, int iteration)
{
    const raytrain_metric metrics[] = {{"loss", 1.0 / iteration}, {"lr", 0.5}};
    raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);

    REQUIRE(ck);
    if (cells_give(ctx, ck, (float)iteration) != 0 || attach(ctx, ck) != 0)
        return 1;
    REQUIRE(raytrain_report_rank0(ctx, raytrain_rank(ctx) == 0 ? metrics : NULL, 2,
                                  ck) == RAYTRAIN_OK);
    return 0;
}

static int file_find(raytrain_context *ctx, raytrain_checkpoint *ck, int rank)
{
    char name[64], want[64], path[64];
    size_t n;
    void *got;

    snprintf(name, sizeof name, "rank-%d/notes.txt", rank);
    snprintf(want, sizeof want, "notes of rank %d\n", rank);
    REQUIRE(raytrain_checkpoint_get_bytes(ck, name, &got, &n) == RAYTRAIN_OK);
    REQUIRE(n == strlen(want) && strcmp(got, want) == 0);
    free(got);
    snprintf(path, sizeof path, "back-%d-%d", raytrain_rank(ctx), rank);
    REQUIRE(raytrain_checkpoint_get_file(ck, name, path) == RAYTRAIN_OK);
    return 0;
}

static int restored_check(raytrain_context *ctx, raytrain_checkpoint *ck)
{
    float cells[CELLS];
    raytrain_tensor t = {
        .data = cells, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {CELLS}};
    double loss;
    int64_t writers;
    size_t n;
    void *got;

    REQUIRE(raytrain_checkpoint_get(ck, "cells", &t) == RAYTRAIN_OK);
    REQUIRE(cells[0] == 3 && cells[CELLS - 1] == 3);
    REQUIRE(raytrain_checkpoint_metric(ck, "loss", &loss) == RAYTRAIN_OK);
    REQUIRE(loss > 0.33 && loss < 0.34);
    REQUIRE(raytrain_checkpoint_get_bytes(ck, "three", &got, &n) == RAYTRAIN_OK);
    REQUIRE(n == 3 && memcmp(got, "\0\1", 3) == 0);
    free(got);
    REQUIRE(raytrain_checkpoint_get_bytes(ck, "four", &got, &n) == RAYTRAIN_ENOTFOUND);
    REQUIRE(raytrain_checkpoint_get_file(ck, "three", "/no/such/dir/f") != RAYTRAIN_OK);
    REQUIRE(raytrain_config_int(ctx, "writers", 1, &writers) == RAYTRAIN_OK);
    for (int r = 1; r < writers; r++)
        if (file_find(ctx, ck, r) != 0)
            return 1;
    return 0;
}

int train_func(raytrain_context *ctx)
{
    raytrain_checkpoint *ck = raytrain_get_checkpoint(ctx);
    const raytrain_metric metric = {"loss", 0};

    if (ck) {
        REQUIRE(raytrain_durable_iteration(ctx) == 0);
        return restored_check(ctx, ck) || raytrain_report(ctx, &metric, 1, NULL);
    }
    REQUIRE(raytrain_durable_iteration(ctx) == 0);
    REQUIRE(raytrain_last_status(ctx) == RAYTRAIN_OK);
    for (int i = 1; i <= 3; i++)
        if (report(ctx, i) != 0)
            return 1;
    REQUIRE(released >= given - 1); /* only the last save may still be in progress */
    REQUIRE(raytrain_checkpoint_wait(ctx) == RAYTRAIN_OK);
    REQUIRE(raytrain_durable_iteration(ctx) == 3);
    REQUIRE(released == given && given == 3);
    REQUIRE(raytrain_last_status(ctx) != RAYTRAIN_OK);
    return 0;
}
