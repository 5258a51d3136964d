/*
 * stop.c - train_func(STEPS): STEPS iterations of 0.1 s with a model of 100 MiB, which is
 * saved if raytrain_should_checkpoint() returns true.
 */
#include <raytrain.h>
#include <stdlib.h>
#include <time.h>

#define SIZE ((size_t)25 << 20)

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    float *model = calloc(SIZE, sizeof *model);
    raytrain_tensor tensor = {
        .data = model, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {SIZE}};
    char **argv;
    int64_t steps = raytrain_args(ctx, &argv) > 0 ? atol(argv[0]) : 10;
    int rc = model ? 0 : RAYTRAIN_ENOMEM;

    while (rc == 0 && !raytrain_should_stop(ctx) &&
           raytrain_training_iteration(ctx) < steps) {
        raytrain_checkpoint *ck = NULL;

        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        for (size_t i = 0; i < SIZE; i += 4096)
            model[i] += 1;
        if (raytrain_should_checkpoint(ctx)) {
            ck = raytrain_checkpoint_create(ctx);
            rc = raytrain_checkpoint_put(ck, "model", &tensor);
        }
        if (rc == 0)
            rc = raytrain_report(ctx, NULL, 0, ck);
    }
    free(model);
    return rc;
}
