/*
 * callbacks.c - train_func(REPORTS): reports of ten metrics, each after about a
 * millisecond of work, whose amount is fixed at the start: what else runs on the cores
 * makes the whole longer. Prints the seconds from the first report to the last.
 */
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define METRICS 10
#define WORK    300000 /* steps that wait for each other: about a millisecond */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double work(double x)
{
    for (int i = 0; i < WORK; i++)
        x = x * 0.999999 + 0.5;
    return x;
}

int train_func(raytrain_context *ctx)
{
    static const char *const names[METRICS] = {"a", "b", "c", "d", "e",
                                               "f", "g", "h", "i", "j"};
    raytrain_metric metrics[METRICS];
    char **argv;
    long n = raytrain_args(ctx, &argv) > 0 ? atol(argv[0]) : 1000;
    double start = now(), x = (double)n;

    for (long i = 0; i < n; i++) {
        x = work(x);
        for (int k = 0; k < METRICS; k++)
            metrics[k] = (raytrain_metric){names[k], x / (k + 3) + (double)i};
        if (raytrain_report(ctx, metrics, METRICS, NULL))
            return 1;
    }
    printf("%.6f\n", now() - start);
    return 0;
}
