/* line.c - the training function of raytrain(7): fit a line through points. */
#include <raytrain.h>
#include <stdlib.h>

/* The gradient for slope and intercept over a batch, the sum of squares, and the rows. */
static int batch_sum(raytrain_dataset *points, const double w[2], double sums[4])
{
    raytrain_tensor x, y;

    if (raytrain_dataset_column(points, "x", &x) ||
        raytrain_dataset_column(points, "y", &y))
        return 1;
    for (uint64_t row = 0; row < x.shape[0]; row++) {
        double at = ((const double *)x.data)[row];
        double error = w[0] * at + w[1] - ((const double *)y.data)[row];

        sums[0] += error * at;
        sums[1] += error;
        sums[2] += error * error;
        sums[3] += 1;
    }
    return 0;
}

/* One pass over all points; *loss is the mean square. */
static int epoch(raytrain_context *ctx, raytrain_dataset *points, double w[2],
                 double *loss)
{
    double squares = 0, rows = 0;
    uint64_t mine;
    int rc;

    while ((rc = raytrain_dataset_next(points, &mine)) == RAYTRAIN_OK) {
        double sums[4] = {0};

        if (batch_sum(points, w, sums) ||
            raytrain_allreduce(ctx, sums, 4, RAYTRAIN_FLOAT64, RAYTRAIN_SUM))
            return 1;
        w[0] -= 0.5 * sums[0] / sums[3];
        w[1] -= 0.5 * sums[1] / sums[3];
        squares += sums[2];
        rows += sums[3];
    }
    *loss = squares / rows;
    return rc != RAYTRAIN_END;
}

int train_func(raytrain_context *ctx)
{
    double w[2] = {0, 0}, loss;
    raytrain_tensor line = {
        .data = w, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {2}};
    raytrain_checkpoint *from = raytrain_get_checkpoint(ctx); /* NULL: none */
    raytrain_dataset *points = raytrain_get_dataset_shard(ctx, "train");
    int64_t epochs, crash_after;

    if (!points || raytrain_dataset_set_batch_size(points, 8) ||
        raytrain_config_int(ctx, "epochs", 10, &epochs) ||
        raytrain_config_int(ctx, "crash_after", 0, &crash_after) ||
        (from && raytrain_checkpoint_get(from, "line", &line)))
        return 1;
    while (raytrain_training_iteration(ctx) < epochs && !raytrain_should_stop(ctx)) {
        raytrain_checkpoint *ck;

        if (epoch(ctx, points, w, &loss))
            return 1;
        raytrain_metric metrics[] = {{"loss", loss}, {"slope", w[0]}};
        ck = raytrain_checkpoint_create(ctx);
        if (raytrain_checkpoint_put(ck, "line", &line) ||
            raytrain_report(ctx, metrics, 2, ck))
            return 1;
        if (!from && raytrain_training_iteration(ctx) == crash_after)
            abort();
    }
    return 0;
}
