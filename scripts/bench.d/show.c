/*
 * show.c - train_func(FILE): 1,000 iterations of some computation, each of which prints
 * 100 lines and reports; rank 0 writes the seconds that this took into the file.
 */
#include <raytrain.h>
#include <stdio.h>
#include <time.h>

#define ITERATIONS 1000
#define LINES      100

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double compute(double x)
{
    for (int i = 0; i < 1000000; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

int train_func(raytrain_context *ctx)
{
    double start = now(), x = raytrain_rank(ctx) + 1;
    char **argv;
    FILE *out;

    for (int i = 0; i < ITERATIONS; i++) {
        x = compute(x);
        for (int k = 0; k < LINES; k++)
            printf("iteration %d, step %d: loss %.6f, accuracy %.4f\n", i, k, x, 1 - x);
        if (raytrain_report(ctx, &(raytrain_metric){"loss", x}, 1, NULL))
            return 1;
    }
    if (raytrain_rank(ctx) != 0 || raytrain_args(ctx, &argv) != 1)
        return 0;
    if (!(out = fopen(argv[0], "w")))
        return 1;
    fprintf(out, "%.6f\n", now() - start);
    return fclose(out) != 0;
}
