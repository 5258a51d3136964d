/*
 * disagree.c - a training function in which the last rank calls something else than the
 * other ranks, in many ways. Each time the call must fail on every rank, with an error
 * that says what both did, and later calls must work. With train_loop_config.last =
 * "return" or "allreduce" the last rank only does that, while the others report; with
 * "step" it reports, while the others wait for gradients.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <raytrain.h>

#define MANY 100000

static float numbers[2 * MANY];

static int report(raytrain_context *ctx)
{
    raytrain_metric metric = {"loss", 1};

    return raytrain_report(ctx, &metric, 1, NULL);
}

static int report_rank0(raytrain_context *ctx)
{
    raytrain_metric metric = {"loss", 1};

    return raytrain_report_rank0(ctx, &metric, 1, NULL);
}

static int sum(raytrain_context *ctx, size_t n, raytrain_dtype dtype, raytrain_op op)
{
    memset(numbers, 0, sizeof numbers);
    return raytrain_allreduce(ctx, numbers, n, dtype, op);
}

static int sum_4(raytrain_context *ctx)
{
    return sum(ctx, 4, RAYTRAIN_FLOAT32, RAYTRAIN_SUM);
}

static int sum_8(raytrain_context *ctx)
{
    return sum(ctx, 8, RAYTRAIN_FLOAT32, RAYTRAIN_SUM);
}

static int mean_4(raytrain_context *ctx)
{
    return raytrain_allreduce_mean(ctx, numbers, 4);
}

static int sum_4_doubles(raytrain_context *ctx)
{
    return sum(ctx, 4, RAYTRAIN_FLOAT64, RAYTRAIN_SUM);
}

static int sum_none(raytrain_context *ctx)
{
    return sum(ctx, 0, RAYTRAIN_FLOAT32, RAYTRAIN_SUM);
}

static int sum_many(raytrain_context *ctx)
{
    return sum(ctx, MANY, RAYTRAIN_FLOAT32, RAYTRAIN_SUM);
}

static int sum_more(raytrain_context *ctx)
{
    return sum(ctx, MANY + 1, RAYTRAIN_FLOAT32, RAYTRAIN_SUM);
}

static int from_0(raytrain_context *ctx)
{
    return raytrain_broadcast(ctx, numbers, 8, 0);
}

static int from_1(raytrain_context *ctx)
{
    return raytrain_broadcast(ctx, numbers, 8, 1);
}

static int from_0_more(raytrain_context *ctx)
{
    return raytrain_broadcast(ctx, numbers, sizeof numbers, 0);
}

static int reducer(raytrain_context *ctx, uint64_t a, uint64_t b, size_t bucket_bytes)
{
    const raytrain_tensor g[] = {
        {.data = numbers, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {a}},
        {.data = numbers + MANY, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {b}}};
    raytrain_reducer *r = NULL;
    int rc = raytrain_reducer_create(ctx, g, 2, bucket_bytes, &r);

    raytrain_reducer_destroy(r);
    return rc;
}

static int reducer_4_8(raytrain_context *ctx)
{
    return reducer(ctx, 4, 8, 0);
}

static int reducer_8_4(raytrain_context *ctx)
{
    return reducer(ctx, 8, 4, 0);
}

static int reducer_buckets(raytrain_context *ctx)
{
    return reducer(ctx, 4, 8, 16);
}

static int reducer_4_doubles(raytrain_context *ctx)
{
    const raytrain_tensor g[] = {
        {.data = numbers, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {4}},
        {.data = numbers + MANY, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {8}}};
    raytrain_reducer *r = NULL;
    int rc = raytrain_reducer_create(ctx, g, 2, 0, &r);

    raytrain_reducer_destroy(r);
    return rc;
}

static int sharded(raytrain_context *ctx, int gather)
{
    raytrain_tensor g = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {4}};
    raytrain_reducer *r = NULL;
    int rc = raytrain_reducer_create_sharded(ctx, &g, 1, &g, 1, 0, &r);

    if (!rc)
        rc = gather ? raytrain_reducer_gather(r) : raytrain_barrier(ctx);
    raytrain_reducer_destroy(r);
    return rc;
}

static int gather(raytrain_context *ctx)
{
    return sharded(ctx, 1);
}

static int no_gather(raytrain_context *ctx)
{
    return sharded(ctx, 0);
}

typedef int call(raytrain_context *ctx);

static const struct {
    call *others, *last;
    const char *others_did, *last_did;
} ways[] = {
    {report, sum_4, "called raytrain_report()",
     "called raytrain_allreduce() of 4 float32 (sum)"},
    {sum_4, report, "called raytrain_allreduce() of 4 float32 (sum)",
     "called raytrain_report()"},
    {report, report_rank0, "called raytrain_report()",
     "called raytrain_report_rank0()"},
    {report_rank0, report, "called raytrain_report_rank0()",
     "called raytrain_report()"},
    {report_rank0, sum_4, "called raytrain_report_rank0()",
     "called raytrain_allreduce() of 4 float32 (sum)"},
    {raytrain_checkpoint_wait, report, "called raytrain_checkpoint_wait()",
     "called raytrain_report()"},
    {raytrain_barrier, report, "called raytrain_barrier()", "called raytrain_report()"},
    {raytrain_barrier, from_0, "called raytrain_barrier()",
     "called raytrain_broadcast() of 8 bytes from rank 0"},
    {sum_4, sum_8, "of 4 float32 (sum)", "of 8 float32 (sum)"},
    {sum_8, sum_4, "of 8 float32 (sum)", "of 4 float32 (sum)"},
    {sum_4_doubles, sum_8, "of 4 float64 (sum)", "of 8 float32 (sum)"},
    {sum_4, mean_4, "of 4 float32 (sum)", "of 4 float32 (mean)"},
    {sum_4, sum_none, "of 4 float32 (sum)", "of 0 float32 (sum)"},
    {sum_many, sum_4, "of 100000 float32 (sum)", "of 4 float32 (sum)"},
    {sum_many, sum_more, "of 100000 float32 (sum)", "of 100001 float32 (sum)"},
    {from_0, from_1, "of 8 bytes from rank 0", "of 8 bytes from rank 1"},
    {from_0, from_0_more, "of 8 bytes from rank 0", "of 800000 bytes from rank 0"},
    {reducer_4_8, reducer_8_4, "2 gradients in buckets of 0 bytes: float32 [4] [8]",
     "2 gradients in buckets of 0 bytes: float32 [8] [4]"},
    {reducer_4_8, reducer_4_doubles, "float32 [4] [8]", "float32 [4] float64 [8]"},
    {reducer_4_8, gather, "called raytrain_reducer_create() of 2",
     "called raytrain_reducer_create_sharded() of 1"},
    {gather, no_gather, "called raytrain_reducer_gather()",
     "called raytrain_barrier()"},
    {reducer_4_8, reducer_buckets, "in buckets of 0 bytes", "in buckets of 16 bytes"},
    {reducer_4_8, sum_many, "called raytrain_reducer_create()",
     "called raytrain_allreduce()"},
};

static int wrong(raytrain_context *ctx, size_t way, const char *what)
{
    fprintf(stderr, "way %zu, rank %d: %s: %s\n", way, raytrain_rank(ctx), what,
            raytrain_last_error(ctx));
    return 1;
}

/* "the workers do not agree: ranks 0-1 A, but rank 2 B". */
static int says_who(raytrain_context *ctx, size_t way)
{
    const char *text = raytrain_last_error(ctx);
    const char *a = strstr(text, ways[way].others_did);
    const char *but = strstr(text, ", but "), *b = but;
    char last[32];

    snprintf(last, sizeof last, "but rank %d ", raytrain_world_size(ctx) - 1);
    if (b)
        b = strstr(b, ways[way].last_did);
    return a && b && a < but && strstr(text, last);
}

static int check_all(raytrain_context *ctx)
{
    int last = raytrain_rank(ctx) == raytrain_world_size(ctx) - 1;

    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        float one[3] = {1, 1, 1};

        if ((last ? ways[way].last : ways[way].others)(ctx) != RAYTRAIN_ECOMM)
            return wrong(ctx, way, "not refused");
        if (!says_who(ctx, way))
            return wrong(ctx, way, "does not say who did what");
        if (raytrain_allreduce(ctx, one, 3, RAYTRAIN_FLOAT32, RAYTRAIN_SUM) ||
            one[2] != (float)raytrain_world_size(ctx))
            return wrong(ctx, way, "what follows does not work");
    }
    return report(ctx);
}

/* A step of a reducer, but a report on the last rank. */
static int step_or_report(raytrain_context *ctx)
{
    const raytrain_tensor g = {
        .data = numbers, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {4}};
    raytrain_reducer *r;

    if (raytrain_reducer_create(ctx, &g, 1, 0, &r))
        return 1;
    if (raytrain_rank(ctx) == raytrain_world_size(ctx) - 1)
        return report(ctx);
    if (raytrain_reducer_ready(r, 0))
        return 1;
    return raytrain_reducer_wait(r);
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    const char *how;

    if (raytrain_config_string(ctx, "last", "", &how))
        return 1;
    if (!*how)
        return check_all(ctx);
    if (strcmp(how, "step") == 0)
        return step_or_report(ctx);
    if (raytrain_rank(ctx) != raytrain_world_size(ctx) - 1)
        return report(ctx);
    return strcmp(how, "return") == 0 ? 0 : sum_4(ctx);
}
