/*
 * restart.c - a small model whose rank 1 is killed (SIGKILL) before its third report; the
 * second attempt reports twice. Prints lines "killed T" and "reported T", with T in
 * seconds of Unix time.
 */
#include <raytrain.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SIZE 100000

static void tell(const char *what)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    printf("%s %lld.%06ld\n", what, (long long)now.tv_sec, now.tv_nsec / 1000);
    fflush(stdout);
}

static int step(raytrain_context *ctx, float *model, raytrain_tensor *tensor)
{
    const raytrain_metric loss = {"loss", 1};
    raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);

    for (int i = 0; i < SIZE; i++)
        model[i] = 0.9f * model[i] + (float)raytrain_rank(ctx);
    return raytrain_allreduce_mean(ctx, model, SIZE) ||
           raytrain_checkpoint_put(ck, "model", tensor) ||
           raytrain_report(ctx, &loss, 1, ck);
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    static float model[SIZE];
    raytrain_tensor tensor = {
        .data = model, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {SIZE}};
    raytrain_checkpoint *from = raytrain_get_checkpoint(ctx);

    if (from && raytrain_checkpoint_get(from, "model", &tensor))
        return 1;
    for (int i = 0; i < 2; i++) {
        if (step(ctx, model, &tensor))
            return 1;
        if (from && i == 0 && raytrain_rank(ctx) == 0)
            tell("reported");
    }
    if (!from && raytrain_rank(ctx) == 1) {
        tell("killed");
        kill(getpid(), SIGKILL);
    }
    return from ? 0 : step(ctx, model, &tensor);
}
