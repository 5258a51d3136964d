/*
 * memory.c - a training function that allocates and touches OWN MiB. Prints the peak
 * resident memory of the worker in MiB.
 */
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN ((size_t)64)

static double peak_mib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib / 1024;
}

int train_func(raytrain_context *ctx)
{
    float *own = malloc(OWN << 20);
    size_t n = (OWN << 20) / sizeof *own;
    raytrain_metric metric = {"peak_mib", 0};
    int rc;

    if (!own)
        return RAYTRAIN_ENOMEM;
    memset(own, 0, OWN << 20);
    for (int step = 0; step < 3; step++) {
        if ((rc = raytrain_allreduce_mean(ctx, own, n)))
            break;
        metric.value = peak_mib();
        if ((rc = raytrain_report(ctx, &metric, 1, NULL)))
            break;
    }
    free(own);
    return rc;
}
