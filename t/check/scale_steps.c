/*
 * scale_steps.c - train_func(): what t/scale/scale measures. Between two marks
 * (scale_count.c) it makes REPORTS reports, and between the next two it makes none for
 * train_loop_config.quiet_s. Each rank reports its peak memory, except for what is in
 * the training function.
 */
#include <raytrain.h>
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#define REPORTS 20

static double peak_mib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    unsigned long kib = 0;
    char line[256];

    while (f && kib == 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lu", &kib) != 1)
            kib = 0;
    if (f)
        fclose(f);
    return (double)kib / 1024;
}

/* All ranks are at the same place when rank 0 marks it. */
static int mark(raytrain_context *ctx, int i)
{
    void (*scale_mark)(int) = NULL;

    if (raytrain_barrier(ctx))
        return 1;
    *(void **)&scale_mark = dlsym(RTLD_DEFAULT, "scale_mark");
    if (scale_mark && raytrain_rank(ctx) == 0)
        scale_mark(i);
    return raytrain_barrier(ctx);
}

static int reports(raytrain_context *ctx, int n)
{
    for (int i = 0; i < n; i++) {
        const raytrain_metric peak = {"peak_mib", peak_mib()};

        if (raytrain_report(ctx, &peak, 1, NULL))
            return 1;
    }
    return 0;
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    double quiet_s;

    if (raytrain_config_double(ctx, "quiet_s", 0, &quiet_s) || reports(ctx, 1) ||
        mark(ctx, 0) || reports(ctx, REPORTS) || mark(ctx, 1))
        return 1;
    usleep((useconds_t)(quiet_s * 1e6));
    return mark(ctx, 2);
}
