/*
 * misbehave.c - a training function that fails in the way that train_loop_config.how
 * names, on rank train_loop_config.rank (-1: on all ranks); the other ranks report
 * until a report fails.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <raytrain.h>

#define REPORTS 3

static int reports(raytrain_context *ctx, double loss)
{
    raytrain_metric metric = {"loss", loss};

    for (int i = 0; i < REPORTS; i++) {
        int rc = raytrain_report(ctx, &metric, 1, NULL);

        if (rc) {
            fprintf(stderr, "%s\n", raytrain_last_error(ctx));
            return rc;
        }
    }
    return 0;
}

static int how_returns(raytrain_context *ctx)
{
    (void)ctx;
    fprintf(stderr, "the data are not to my taste\n");
    return 7;
}

static int how_exits(raytrain_context *ctx)
{
    (void)ctx;
    printf("leaving\n");
    exit(0);
}

static int how_leaves(raytrain_context *ctx)
{
    (void)ctx;
    _exit(0);
}

static int how_aborts(raytrain_context *ctx)
{
    (void)ctx;
    abort();
}

static int how_segfaults(raytrain_context *ctx)
{
    volatile int *volatile nowhere = NULL;

    *nowhere = raytrain_rank(ctx);
    return 0;
}

static int how_is_killed(raytrain_context *ctx)
{
    (void)ctx;
    raise(SIGKILL);
    return 0;
}

static int how_nan(raytrain_context *ctx)
{
    return reports(ctx, NAN);
}

static int how_early(raytrain_context *ctx)
{
    raytrain_metric metric = {"loss", 1};

    return raytrain_report(ctx, &metric, 1, NULL);
}

static int how_other_metric(raytrain_context *ctx)
{
    raytrain_metric metric = {"gain", 1};

    return raytrain_report(ctx, &metric, 1, NULL);
}

static int how_bad_name(raytrain_context *ctx)
{
    raytrain_metric metric = {"the loss", 1};

    return raytrain_report(ctx, &metric, 1, NULL);
}

static int how_null(raytrain_context *ctx)
{
    if (raytrain_report(ctx, NULL, 3, NULL) != RAYTRAIN_EINVAL ||
        raytrain_reducer_wait(NULL) != RAYTRAIN_EINVAL)
        return 1;
    return reports(ctx, 1);
}

static int how_bad_config(raytrain_context *ctx)
{
    int64_t number;

    return raytrain_config_int(ctx, "how", 0, &number);
}

/* Never reaches the next report. */
static int how_hangs(raytrain_context *ctx)
{
    (void)ctx;
    while (pause() < 0)
        ;
    return 0;
}

static const struct {
    const char *name;
    raytrain_train_func how;
} ways[] = {
    {"return", how_returns}, {"exit", how_exits},         {"_exit", how_leaves},
    {"abort", how_aborts},   {"segfault", how_segfaults}, {"kill", how_is_killed},
    {"nan", how_nan},        {"early", how_early},        {"metric", how_other_metric},
    {"name", how_bad_name},  {"null", how_null},          {"config", how_bad_config},
    {"hang", how_hangs},
};

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    const char *name;
    int64_t rank;

    if (raytrain_config_string(ctx, "how", "return", &name) ||
        raytrain_config_int(ctx, "rank", -1, &rank))
        return 1;
    if (rank >= 0 && rank != raytrain_rank(ctx))
        return reports(ctx, 1);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(ways[i].name, name) == 0)
            return ways[i].how(ctx);
    }
    fprintf(stderr, "\"%s\" is not a way to misbehave\n", name);
    return 1;
}
