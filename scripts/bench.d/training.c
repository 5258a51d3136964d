/*
 * training.c - train the network of the quick start for an epoch on the dataset "train",
 * each batch twice: as it comes from the dataset, and gathered from a copy of all rows in
 * memory, which was made in an epoch before. The two alternate, STRETCH batches at a time,
 * so that the speed of the machine is the same for both. Prints samples/s of both.
 */
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mlp.h"

#define BATCH   128
#define PIXELS  784
#define STRETCH 24

int train_func(raytrain_context *ctx);

struct training {
    raytrain_dataset *data;
    struct mlp mlp;
    size_t n;        /* rows of the dataset */
    uint8_t *x, *y;  /* all of them, by their number */
    uint8_t *images; /* of a batch from memory */
    uint8_t *labels;
};

/* The rows of a stretch, by their numbers. */
struct stretch {
    uint32_t rows[STRETCH][BATCH];
    uint64_t n_rows[STRETCH];
    int n;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int ready(void *arg, int layer)
{
    (void)arg;
    (void)layer;
    return 0;
}

static void step(struct training *t, const uint8_t *x, const uint8_t *y, int rows)
{
    struct mlp *m = &t->mlp;
    float n = rows;

    mlp_load_pixels(m, x, rows);
    mlp_forward(m, rows);
    mlp_loss(m, y, rows);
    mlp_backward(m, rows, ready, NULL);
    mlp_sgd_step(m, 0, m->n_params, 0.01f, 0.9f, &n);
}

static int batch_next(struct training *t, uint64_t *n, const uint8_t **x,
                      const uint8_t **y, const uint32_t **row)
{
    raytrain_tensor column;
    int rc = raytrain_dataset_next(t->data, n);

    if (rc || (rc = raytrain_dataset_column(t->data, "x", &column)))
        return rc;
    *x = column.data;
    if ((rc = raytrain_dataset_column(t->data, "y", &column)))
        return rc;
    *y = column.data;
    rc = raytrain_dataset_column(t->data, "row", &column);
    *row = column.data;
    return rc;
}

/* An epoch that is not timed. */
static int rows_copy(struct training *t)
{
    const uint8_t *x, *y;
    const uint32_t *row;
    uint64_t n;
    int rc;

    while ((rc = batch_next(t, &n, &x, &y, &row)) == RAYTRAIN_OK)
        for (uint64_t i = 0; i < n; i++) {
            if (row[i] >= t->n)
                return RAYTRAIN_EINVAL;
            memcpy(t->x + (size_t)row[i] * PIXELS, x + i * PIXELS, PIXELS);
            t->y[row[i]] = y[i];
        }
    return rc == RAYTRAIN_END ? RAYTRAIN_OK : rc;
}

/* Note which rows they were. RAYTRAIN_END: there were fewer, or none. */
static int stretch_read(struct training *t, struct stretch *s)
{
    const uint8_t *x, *y;
    const uint32_t *row;
    int rc;

    for (s->n = 0; s->n < STRETCH; s->n++) {
        uint64_t *n = &s->n_rows[s->n];

        if ((rc = batch_next(t, n, &x, &y, &row)))
            return rc;
        memcpy(s->rows[s->n], row, *n * sizeof *row);
        step(t, x, y, *n);
    }
    return RAYTRAIN_OK;
}

static void stretch_from_memory(struct training *t, const struct stretch *s)
{
    for (int k = 0; k < s->n; k++) {
        for (uint64_t i = 0; i < s->n_rows[k]; i++) {
            size_t row = s->rows[k][i];

            memcpy(t->images + i * PIXELS, t->x + row * PIXELS, PIXELS);
            t->labels[i] = t->y[row];
        }
        step(t, t->images, t->labels, s->n_rows[k]);
    }
}

static int epoch(struct training *t)
{
    static struct stretch s;
    double ours = 0, theirs = 0;
    struct mlp_tally sum;
    int rc;

    do {
        double begin = now(), middle;

        rc = stretch_read(t, &s);
        middle = now();
        stretch_from_memory(t, &s);
        ours += middle - begin;
        theirs += now() - middle;
    } while (rc == RAYTRAIN_OK);
    if (rc != RAYTRAIN_END)
        return rc;
    sum = mlp_pass_end(&t->mlp);
    if (!(sum.rows == 2.0 * t->n && sum.loss / sum.rows < 2.3)) {
        fprintf(stderr, "training: %g rows, loss %g\n", sum.rows, sum.loss / sum.rows);
        return RAYTRAIN_EFAILED;
    }
    printf("%.1f %.1f\n", t->n / ours, t->n / theirs);
    return RAYTRAIN_OK;
}

static int set_up(struct training *t, raytrain_context *ctx)
{
    const int widths[] = {PIXELS, 512, 512, 10};
    struct mlp *m = &t->mlp;

    t->data = raytrain_get_dataset_shard(ctx, "train");
    if (!t->data || raytrain_dataset_set_batch_size(t->data, BATCH))
        return RAYTRAIN_EFAILED;
    t->n = raytrain_dataset_rows(t->data);
    t->x = malloc(t->n * PIXELS);
    t->y = malloc(t->n);
    t->images = malloc(BATCH * PIXELS);
    t->labels = malloc(BATCH);
    if (mlp_create(m, widths, 3, BATCH) < 0 || !t->x || !t->y || !t->images ||
        !t->labels)
        return RAYTRAIN_ENOMEM;
    m->params = calloc(m->n_params, sizeof(float));
    m->grads = calloc(m->n_params, sizeof(float));
    for (size_t i = 0; m->params && i < m->n_params; i++)
        m->params[i] = 0.1 * (rand() / (double)RAND_MAX - 0.5);
    return m->params && m->grads ? RAYTRAIN_OK : RAYTRAIN_ENOMEM;
}

int train_func(raytrain_context *ctx)
{
    static struct training t;
    int rc = set_up(&t, ctx);

    if (rc || (rc = rows_copy(&t)))
        return rc;
    return epoch(&t);
}
