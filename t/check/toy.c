/*
 * toy.c - a small training function whose result depends on everything that must survive
 * a restart: the model (replicated), a moment (sharded), both random streams, the
 * iteration.
 *
 * train_loop_config: iterations = 6; width = 1000; checkpoint_every = 1; die_rank = -1;
 * die_at = 0: in attempts that start before iteration die_at, rank die_rank is killed
 * there. Each iteration sleeps for sleep_ms = 0.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <raytrain.h>

struct toy {
    int64_t iterations, width, checkpoint_every, die_rank, die_at, sleep_ms;
    float *model;
    double *moment; /* this rank's slab */
    raytrain_tensor model_view, moment_view;
    raytrain_slab mine;
};

static int toy_configure(raytrain_context *ctx, struct toy *t)
{
    const struct {
        const char *key;
        int64_t fallback, *value;
    } keys[] = {
        {"iterations", 6, &t->iterations},
        {"width", 1000, &t->width},
        {"checkpoint_every", 1, &t->checkpoint_every},
        {"die_rank", -1, &t->die_rank},
        {"die_at", 0, &t->die_at},
        {"sleep_ms", 0, &t->sleep_ms},
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (raytrain_config_int(ctx, keys[i].key, keys[i].fallback, keys[i].value))
            return -1;
    }
    return t->width > 0 && t->checkpoint_every > 0 ? 0 : -1;
}

/* The moment is divided as evenly as possible. */
static int toy_make(raytrain_context *ctx, struct toy *t)
{
    uint64_t rank = (uint64_t)raytrain_rank(ctx), width = (uint64_t)t->width;
    uint64_t size = (uint64_t)raytrain_world_size(ctx);

    t->mine.start[0] = width * rank / size;
    t->mine.count[0] = width * (rank + 1) / size - t->mine.start[0];
    t->model = calloc(width, sizeof *t->model);
    t->moment = calloc(t->mine.count[0] + 1, sizeof *t->moment);
    t->model_view = (raytrain_tensor){
        .data = t->model, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {width}};
    t->moment_view = (raytrain_tensor){
        .data = t->moment, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {width}};
    return t->model && t->moment ? 0 : -1;
}

static int toy_restore(raytrain_context *ctx, struct toy *t)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(ctx);

    if (!from)
        return 0;
    if (raytrain_checkpoint_get(from, "model", &t->model_view))
        return -1;
    return raytrain_checkpoint_get_shard(from, "moment", &t->moment_view, &t->mine);
}

static int toy_step(raytrain_context *ctx, struct toy *t)
{
    double kick = raytrain_random_normal(ctx, RAYTRAIN_STREAM_SHARED);
    float *noise = calloc((size_t)t->width, sizeof *noise);
    int rc;

    if (!noise)
        return -1;
    for (int64_t i = 0; i < t->width; i++)
        noise[i] = (float)raytrain_random_uniform(ctx, RAYTRAIN_STREAM_RANK);
    rc = raytrain_allreduce_mean(ctx, noise, (size_t)t->width);
    for (int64_t i = 0; i < t->width; i++)
        t->model[i] = 0.9f * t->model[i] + noise[i];
    for (uint64_t i = 0; i < t->mine.count[0]; i++)
        t->moment[i] += kick * t->model[t->mine.start[0] + i];
    free(noise);
    return rc;
}

static int toy_report(raytrain_context *ctx, struct toy *t)
{
    raytrain_metric metrics[] = {{"first", t->model[0]},
                                 {"last", t->model[t->width - 1]}};
    raytrain_checkpoint *ck = NULL;

    if ((raytrain_training_iteration(ctx) + 1) % t->checkpoint_every == 0) {
        ck = raytrain_checkpoint_create(ctx);
        if (!ck || raytrain_checkpoint_put(ck, "model", &t->model_view) ||
            raytrain_checkpoint_put_shard(ck, "moment", &t->moment_view, &t->mine) ||
            raytrain_checkpoint_put_string(ck, "note", "a toy")) {
            raytrain_checkpoint_discard(ck);
            return -1;
        }
    }
    return raytrain_report(ctx, metrics, 2, ck);
}

static int toy_train(raytrain_context *ctx, struct toy *t)
{
    int64_t begun = raytrain_training_iteration(ctx);
    int rc = 0;

    while (rc == 0 && raytrain_training_iteration(ctx) < t->iterations) {
        if (begun < t->die_at && raytrain_training_iteration(ctx) == t->die_at &&
            raytrain_rank(ctx) == t->die_rank)
            raise(SIGKILL);
        usleep((useconds_t)(t->sleep_ms * 1000));
        rc = toy_step(ctx, t);
        if (rc == 0)
            rc = toy_report(ctx, t);
        if (raytrain_should_stop(ctx))
            break;
    }
    return rc;
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    struct toy toy = {0};
    int rc = toy_configure(ctx, &toy);

    if (rc == 0)
        rc = toy_make(ctx, &toy);
    if (rc == 0)
        rc = toy_restore(ctx, &toy);
    if (rc == 0)
        rc = toy_train(ctx, &toy);
    if (rc)
        fprintf(stderr, "toy: %s\n", raytrain_last_error(ctx));
    free(toy.model);
    free(toy.moment);
    return rc;
}
