/*
 * hello.cc - the training function of hello.c in C++: fit y = 3 x + 1 to noisy samples.
 *
 *     c++ -O2 -shared -fPIC -o hello.so hello.cc $(pkg-config --cflags --libs raytrain)
 */
#include <raytrain.hpp>

static void train(raytrain::context ctx)
{
    std::vector<float> w(2), grad(2);
    const int64_t epochs = ctx.config("epochs", 10);

    if (raytrain::checkpoint from = ctx.get_checkpoint()) /* false on a fresh start */
        from.get("model/weights", w);
    while (ctx.training_iteration() < epochs && !ctx.should_stop()) {
        double loss = 0;

        for (int step = 0; step < 100; step++) { /* each worker draws its own samples */
            float x = raytrain_random_uniform(ctx, RAYTRAIN_STREAM_RANK);
            float noise = 0.1 * raytrain_random_normal(ctx, RAYTRAIN_STREAM_RANK);
            float error = w[0] * x + w[1] - (3 * x + 1 + noise);

            grad[0] = error * x;
            grad[1] = error;
            ctx.allreduce(grad, RAYTRAIN_MEAN); /* the same on all workers now */
            w[0] -= 0.2f * grad[0];
            w[1] -= 0.2f * grad[1];
            loss += error * error / 100;
        }
        raytrain::checkpoint ck = ctx.create_checkpoint();
        ck.put("model/weights", w);
        ctx.report({{"loss", loss}, {"slope", w[0]}}, std::move(ck)); /* publishes ck */
    }
}

extern "C" RAYTRAIN_API int train_func(raytrain_context *ctx)
{
    return raytrain::run(ctx, train);
}
