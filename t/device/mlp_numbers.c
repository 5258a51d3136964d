/*
 * mlp_numbers.c - print what the kernels of share/examples/mlp_kernels.h make of numbers that
 * are always the same. Linked once with mlp_cpu.c and once with mlp_cuda.cu, so that a test can
 * compare the two: a line a block of numbers, "NAME NUMBER...".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_kernels.h"

/* Odd sizes, and more rows than a block has threads. */
#define ROWS    301
#define IN      17
#define OUT     11
#define WEIGHTS (IN * OUT)

static float *numbers(size_t n, unsigned int seed)
{
    float *host = malloc(n * sizeof *host), *p = kernels_alloc(n * sizeof *p);

    if (!host || !p)
        exit(1);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    kernels_write(p, host, n * sizeof *host);
    free(host);
    return p;
}

static void print(const char *name, const float *p, size_t n)
{
    float *host = malloc(n * sizeof *host);

    if (!host)
        exit(1);
    kernels_read(host, p, n * sizeof *host);
    printf("%s", name);
    for (size_t i = 0; i < n; i++)
        printf(" %.7g", host[i]);
    printf("\n");
    free(host);
}

static void passes(float *input, float *weight, float *bias)
{
    float *output = numbers(ROWS * OUT, 4), *below = numbers(ROWS * IN, 5);
    float *gradient = numbers(WEIGHTS, 6), *sums = numbers(OUT, 7);

    kernels_layer(input, weight, bias, ROWS, IN, OUT, 0, output);
    print("layer", output, ROWS * OUT);
    kernels_layer(input, weight, bias, ROWS, IN, OUT, 1, output);
    print("relu", output, ROWS * OUT);
    kernels_gradient(output, input, ROWS, IN, OUT, gradient, sums);
    print("gradient", gradient, WEIGHTS);
    print("sums", sums, OUT);
    kernels_delta(output, weight, input, ROWS, IN, OUT, below);
    print("delta", below, ROWS * IN);
    kernels_gradient(output, input, 0, IN, OUT, gradient, sums);
    print("gradient-of-none", gradient, WEIGHTS);
    print("sums-of-none", sums, OUT);
}

static void losses(float *logits, const uint8_t *labels)
{
    static float probability[ROWS * OUT];
    static uint8_t best[ROWS];
    float *delta = numbers(ROWS * OUT, 8);
    double *tally = kernels_alloc(2 * sizeof *tally), sums[2];

    for (int i = 0; i < 2; i++)
        kernels_loss(logits, labels, ROWS, OUT, delta, tally);
    print("loss", delta, ROWS * OUT);
    kernels_read(sums, tally, sizeof sums);
    printf("tally %.7g %.7g\n", sums[0], sums[1]);
    kernels_softmax(logits, ROWS, OUT, probability, best);
    printf("softmax");
    for (int i = 0; i < ROWS; i++)
        printf(" %.7g %d", probability[i * OUT + 3], best[i]);
    printf("\n");
}

/* full: an allocation has failed before, which the kernels do not find to be an error of theirs. */
int main(int argc, char *argv[])
{
    uint8_t bytes[ROWS];
    float *input = numbers(ROWS * IN, 1), *weight = numbers(WEIGHTS, 2);
    float *bias = numbers(OUT, 3), *rows = kernels_alloc(sizeof *rows), five = 5;

    if (argc > 1 && strcmp(argv[1], "full") == 0 && kernels_alloc((size_t)1 << 60))
        return 1;
    kernels_write(rows, &five, sizeof five);
    for (int i = 0; i < ROWS; i++)
        bytes[i] = (uint8_t)(i * 7);
    kernels_pixels(bytes, ROWS, input);
    print("pixels", input, ROWS * IN);
    passes(input, weight, bias);
    for (int i = 0; i < ROWS; i++)
        bytes[i] = (uint8_t)(i % OUT);
    losses(input, bytes);
    kernels_sgd(weight, input, bias, OUT, 0.1f, 0.9f, rows);
    print("weight", weight, WEIGHTS);
    print("velocity", input, WEIGHTS);
    return 0;
}
