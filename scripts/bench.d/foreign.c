/*
 * foreign.c - open an HDF5 file of another program, and read the whole of its dataset
 * "weights" into memory that has been touched. Arguments: PATH TURNS. Rank 0 prints the
 * median of the milliseconds.
 */
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int train_func(raytrain_context *ctx);

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int read_all(raytrain_context *ctx, const char *path, raytrain_tensor *t)
{
    raytrain_checkpoint *ck = raytrain_checkpoint_open(ctx, path);
    int rc = ck ? raytrain_checkpoint_get(ck, "weights", t) : RAYTRAIN_EFAILED;

    raytrain_checkpoint_close(ck);
    return rc;
}

static int tensor_make(raytrain_context *ctx, const char *path, raytrain_tensor *t)
{
    raytrain_checkpoint *ck = raytrain_checkpoint_open(ctx, path);
    int rc = ck ? raytrain_checkpoint_info(ck, "weights", t) : RAYTRAIN_EFAILED;
    size_t bytes = rc ? 0 : t->shape[0] * raytrain_dtype_size(t->dtype);

    raytrain_checkpoint_close(ck);
    if (rc != 0)
        return rc;
    t->data =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t->data == MAP_FAILED)
        return RAYTRAIN_ENOMEM;
    madvise(t->data, bytes, MADV_HUGEPAGE); /* as numpy does */
    memset(t->data, 1, bytes);
    return RAYTRAIN_OK;
}

int train_func(raytrain_context *ctx)
{
    char **argv;
    int n = raytrain_args(ctx, &argv), turns = n == 2 ? atoi(argv[1]) : 0;
    double ms[100];
    raytrain_tensor t = {0};
    int rc =
        turns > 0 && turns <= 100 ? tensor_make(ctx, argv[0], &t) : RAYTRAIN_EUSAGE;

    for (int i = 0; rc == 0 && i < turns; i++) {
        double start = now_ms();

        rc = read_all(ctx, argv[0], &t);
        ms[i] = now_ms() - start;
    }
    if (rc)
        fprintf(stderr, "foreign: %s\n", raytrain_last_error(ctx));
    else if (raytrain_rank(ctx) == 0) {
        qsort(ms, (size_t)turns, sizeof *ms, ascending);
        printf("%.3f\n", ms[turns / 2]);
    }
    return rc;
}
