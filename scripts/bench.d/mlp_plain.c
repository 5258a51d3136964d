/*
 * mlp_plain.c - the loop of share/examples/fashion_mlp.c in one process, without
 * raytrain: the same network and batches, shuffled from memory. Prints samples/s of
 * each epoch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "mlp.h"

#define ROWS   60000
#define PIXELS 784
#define BATCH  128

static uint8_t *read_idx(const char *name, size_t header, size_t n)
{
    char path[256];
    uint8_t *bytes = malloc(header + n);
    gzFile file;
    int got;

    snprintf(path, sizeof path, "/usr/share/datasets/fashion-mnist/%s-ubyte.gz", name);
    file = gzopen(path, "rb");
    got = file && bytes ? gzread(file, bytes, header + n) : -1;
    if (got < 0 || (size_t)got != header + n) {
        fprintf(stderr, "mlp_plain: cannot read %s\n", path);
        exit(1);
    }
    gzclose(file);
    return bytes + header;
}

static void shuffle(uint32_t *order)
{
    for (uint32_t i = ROWS - 1; i > 0; i--) {
        uint32_t j = rand() % (i + 1), t = order[i];

        order[i] = order[j];
        order[j] = t;
    }
}

static int ready(void *arg, int layer)
{
    (void)arg;
    (void)layer;
    return 0;
}

static void epoch(struct mlp *m, const uint8_t *x, const uint8_t *y,
                  const uint32_t *order)
{
    static uint8_t images[BATCH * PIXELS], labels[BATCH];
    struct mlp_tally sum;

    for (int at = 0; at < ROWS; at += BATCH) {
        int rows = ROWS - at < BATCH ? ROWS - at : BATCH;
        float n = rows;

        for (int r = 0; r < rows; r++) {
            memcpy(images + r * PIXELS, x + (size_t)order[at + r] * PIXELS, PIXELS);
            labels[r] = y[order[at + r]];
        }
        mlp_load_pixels(m, images, rows);
        mlp_forward(m, rows);
        mlp_loss(m, labels, rows);
        mlp_backward(m, rows, ready, NULL);
        mlp_sgd_step(m, 0, m->n_params, 0.05f, 0.9f, &n);
    }
    sum = mlp_pass_end(m);
    if (!(sum.loss / sum.rows < 2.3))
        fprintf(stderr, "mlp_plain: it does not learn: loss %g\n", sum.loss / sum.rows);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char *argv[])
{
    const int widths[] = {PIXELS, 512, 512, 10};
    const uint8_t *x = read_idx("train-images-idx3", 16, (size_t)ROWS * PIXELS);
    const uint8_t *y = read_idx("train-labels-idx1", 8, ROWS);
    uint32_t *order = malloc(ROWS * sizeof *order);
    struct mlp m;

    if (!order || mlp_create(&m, widths, 3, BATCH) < 0)
        return 1;
    m.params = calloc(m.n_params, sizeof(float));
    m.grads = calloc(m.n_params, sizeof(float));
    if (!m.params || !m.grads)
        return 1;
    for (uint32_t i = 0; i < ROWS; i++)
        order[i] = i;
    for (size_t i = 0; i < m.n_params; i++)
        m.params[i] = 0.1 * (rand() / (double)RAND_MAX - 0.5);
    for (int e = argc > 1 ? atoi(argv[1]) : 1; e > 0; e--) {
        double start = now();

        shuffle(order);
        epoch(&m, x, y, order);
        printf("%.1f\n", ROWS / (now() - start));
    }
    return 0;
}
