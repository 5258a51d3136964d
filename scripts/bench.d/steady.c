/*
 * steady.c - train_func(STEPS): STEPS iterations of about 10 ms of arithmetic on each
 * rank and one report, with a checkpoint every 20 iterations, until asked to stop.
 */
#include <raytrain.h>
#include <stdlib.h>

#define SIZE 100000

static int step(raytrain_context *ctx, float *model, raytrain_tensor *tensor)
{
    const raytrain_metric loss = {"loss", 1};
    raytrain_checkpoint *ck = NULL;

    for (int round = 0; round < 100; round++)
        for (int i = 0; i < SIZE; i++)
            model[i] = 0.9f * model[i] + (float)round;
    if (raytrain_allreduce_mean(ctx, model, SIZE))
        return 1;
    if ((raytrain_training_iteration(ctx) + 1) % 20 == 0) {
        ck = raytrain_checkpoint_create(ctx);
        if (raytrain_checkpoint_put(ck, "model", tensor))
            return 1;
    }
    return raytrain_report(ctx, &loss, 1, ck);
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    static float model[SIZE];
    raytrain_tensor tensor = {
        .data = model, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {SIZE}};
    raytrain_checkpoint *from = raytrain_get_checkpoint(ctx);
    char **argv;
    int64_t steps = raytrain_args(ctx, &argv) > 0 ? atol(argv[0]) : 100;

    if (from && raytrain_checkpoint_get(from, "model", &tensor))
        return 1;
    while (raytrain_training_iteration(ctx) < steps && !raytrain_should_stop(ctx))
        if (step(ctx, model, &tensor))
            return 1;
    return 0;
}
