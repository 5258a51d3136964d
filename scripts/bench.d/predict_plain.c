/*
 * predict_plain.c - what the predict function of share/examples/fashion_mlp.c computes, in
 * one process without raytrain: the network 784-512-512-10 on the images of an IDX file,
 * which is read by batches, TIMES times. Prints rows/s.
 *
 *     predict_plain IMAGES TIMES
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mlp.h"

#define ROWS   60000
#define PIXELS 784
#define BATCH  256
#define HEAD   16 /* bytes of the file before the images */

static float probability[BATCH][10];
static uint8_t best[BATCH];

static void pass(struct mlp *m, FILE *file)
{
    static uint8_t images[BATCH * PIXELS];
    size_t rows;

    if (fseek(file, HEAD, SEEK_SET) != 0)
        exit(1);
    while ((rows = fread(images, PIXELS, BATCH, file)) > 0) {
        mlp_load_pixels(m, images, (int)rows);
        mlp_forward(m, (int)rows);
        mlp_classify(m, (int)rows, probability[0], best);
    }
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
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    int times = argc == 3 ? atoi(argv[2]) : 0;
    double start;
    struct mlp m;

    if (!file || times < 1 || mlp_create(&m, widths, 3, BATCH) < 0)
        return 1;
    m.params = calloc(m.n_params, sizeof(float));
    if (!m.params)
        return 1;
    for (size_t i = 0; i < m.n_params; i++)
        m.params[i] = 0.1 * (rand() / (double)RAND_MAX - 0.5);
    start = now();
    for (int i = 0; i < times; i++)
        pass(&m, file);
    printf("%.1f\n", ROWS * (double)times / (now() - start));
    return 0;
}
