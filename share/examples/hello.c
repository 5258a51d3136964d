/* hello.c - a complete training function: fit y = 3 x + 1 to noisy samples. */
#include <raytrain.h>

int train_func(raytrain_context *ctx)
{
    float w[2] = {0, 0};
    raytrain_tensor weights = {
        .data = w, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {2}};
    raytrain_checkpoint *from =
        raytrain_get_checkpoint(ctx); /* NULL on a fresh start */
    int64_t epochs;

    if (raytrain_config_int(ctx, "epochs", 10, &epochs) ||
        (from && raytrain_checkpoint_get(from, "model/weights", &weights)))
        return 1;
    while (raytrain_training_iteration(ctx) < epochs && !raytrain_should_stop(ctx)) {
        double loss = 0;

        for (int step = 0; step < 100; step++) { /* each worker draws its own samples */
            float x = raytrain_random_uniform(ctx, RAYTRAIN_STREAM_RANK);
            float noise = 0.1 * raytrain_random_normal(ctx, RAYTRAIN_STREAM_RANK);
            float error = w[0] * x + w[1] - (3 * x + 1 + noise);
            float grad[2] = {error * x, error};

            if (raytrain_allreduce_mean(ctx, grad, 2)) /* the same on all workers now */
                return 1;
            w[0] -= 0.2f * grad[0];
            w[1] -= 0.2f * grad[1];
            loss += error * error / 100;
        }
        raytrain_metric metrics[] = {{"loss", loss}, {"slope", w[0]}};
        raytrain_checkpoint *ck = raytrain_checkpoint_create(ctx);
        if (raytrain_checkpoint_put(ck, "model/weights", &weights) ||
            raytrain_report(ctx, metrics, 2, ck)) /* publishes ck; collective */
            return 1;
    }
    return 0;
}
