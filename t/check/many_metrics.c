/*
 * many_metrics.c - train_func(REPORTS [FAIL [WIDE]]): reports of every type of metric
 * until there are REPORTS; the first attempt fails after iteration FAIL. Afterwards
 * metrics that are not possible are refused. With WIDE: one report of WIDE numbers.
 */
#include <raytrain.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE INT64_C(9007199254740993) /* 2^53 + 1: no double has it */

static int one(raytrain_context *ctx, int64_t i)
{
    const raytrain_metric loss = {"train/loss", 1.0 / (double)i};
    double vector[] = {(double)i, 2, i == 5 ? -INFINITY : NAN};
    char text[32];
    raytrain_checkpoint *ck = i == 3 ? raytrain_checkpoint_create(ctx) : NULL;
    raytrain_tensor tensor = {
        .data = vector, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {2}};

    snprintf(text, sizeof text, "rank %d \"%lld\"", raytrain_rank(ctx), (long long)i);
    if ((ck && raytrain_checkpoint_put(ck, "x", &tensor)) ||
        raytrain_set_metric_int64(ctx, "large", LARGE + i) ||
        raytrain_set_metric_text(ctx, "note", "replaced") ||
        raytrain_set_metric_text(ctx, "note", text) ||
        raytrain_set_metric_vector(ctx, "hist", vector, i % 2 ? 3 : 2))
        return 1;
    return raytrain_report(ctx, &loss, 1, ck);
}

static int refused(raytrain_context *ctx)
{
    static char text[RAYTRAIN_METRIC_TEXT_MAX + 2];
    static double vector[RAYTRAIN_METRIC_VECTOR_MAX + 1];
    const raytrain_metric loss = {"loss", 1};

    memset(text, 'x', sizeof text - 1);
    if (raytrain_set_metric_text(ctx, "note", text) != RAYTRAIN_EINVAL ||
        raytrain_set_metric_text(ctx, "note", "\xff") != RAYTRAIN_EINVAL ||
        raytrain_set_metric_text(ctx, "note", NULL) != RAYTRAIN_EINVAL ||
        raytrain_set_metric_text(ctx, "a b", "x") != RAYTRAIN_EINVAL ||
        raytrain_set_metric_int64(ctx, "attempt", 1) != RAYTRAIN_EINVAL ||
        raytrain_set_metric_vector(ctx, "hist", vector, 0) != RAYTRAIN_EINVAL ||
        raytrain_set_metric_vector(ctx, "hist", vector,
                                   RAYTRAIN_METRIC_VECTOR_MAX + 1) != RAYTRAIN_EINVAL)
        return 1;
    /* The name of a number. */
    if (raytrain_set_metric_int64(ctx, "loss", 1) ||
        raytrain_report(ctx, &loss, 1, NULL) != RAYTRAIN_EINVAL)
        return 1;
    return 0;
}

static int wide_report(raytrain_context *ctx, size_t n)
{
    raytrain_metric *all = calloc(n, sizeof *all);
    char(*names)[64] = calloc(n, sizeof *names);
    int rc = !all || !names;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        snprintf(names[i], sizeof names[i], "layer%zu/weight%zu", i / 100, i);
        all[i] = (raytrain_metric){names[i], (double)i};
    }
    if (rc == 0)
        rc = raytrain_report(ctx, all, n, NULL);
    if (rc == 0) {
        all[0].name = names[n - 1];
        rc = raytrain_report(ctx, all, n, NULL) != RAYTRAIN_EINVAL;
    }
    free(all);
    free(names);
    return rc;
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    char **argv;
    int argc = raytrain_args(ctx, &argv);
    int64_t reports = argc > 0 ? atoll(argv[0]) : 5,
            fail = argc > 1 ? atoll(argv[1]) : 0;
    bool fresh = !raytrain_get_checkpoint(ctx);

    if (argc > 2)
        return wide_report(ctx, (size_t)atoll(argv[2]));
    while (raytrain_training_iteration(ctx) < reports) {
        int64_t i = raytrain_training_iteration(ctx) + 1;

        if (one(ctx, i) || (fresh && i == fail)) {
            fprintf(stderr, "many_metrics: %s\n", raytrain_last_error(ctx));
            return 1;
        }
    }
    return refused(ctx);
}
