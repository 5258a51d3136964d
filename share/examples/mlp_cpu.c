/* mlp_cpu.c - the kernels of mlp_kernels.h in plain C and OpenBLAS. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_kernels.h"

int kernels_device(void)
{
    return -1;
}

void *kernels_alloc(size_t n)
{
    return calloc(n, 1);
}

void kernels_free(void *p)
{
    free(p);
}

void kernels_write(void *to, const void *host, size_t n)
{
    memcpy(to, host, n);
}

void kernels_read(void *host, const void *from, size_t n)
{
    memcpy(host, from, n);
}

void kernels_zero(void *p, size_t n)
{
    memset(p, 0, n);
}

void kernels_pixels(const uint8_t *host, size_t n, float *restrict input)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        input[i] = ((float)host[i] - 72.94f) * (1 / 90.02f);
}

static void relu(float *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

void kernels_layer(const float *input, const float *weight, const float *bias, int rows,
                   int in, int out, int has_relu, float *output)
{
    for (int r = 0; r < rows; r++)
        memcpy(output + (size_t)r * out, bias, out * sizeof(float));
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1, input, in,
                weight, in, 1, output, out);
    if (has_relu)
        relu(output, (size_t)rows * out);
}

/* The probabilities, and the sum by which they were divided. */
static float softmax(const float *z, int classes, float *probability, int *best)
{
    float total = 0;

    *best = 0;
    for (int c = 1; c < classes; c++)
        *best = z[c] > z[*best] ? c : *best;
    for (int c = 0; c < classes; c++)
        total += probability[c] = expf(z[c] - z[*best]);
    for (int c = 0; c < classes; c++)
        probability[c] /= total;
    return total;
}

void kernels_loss(const float *logits, const uint8_t *host_labels, int rows,
                  int classes, float *delta, double *tally)
{
    for (int r = 0; r < rows; r++) {
        const float *z = logits + (size_t)r * classes;
        float *d = delta + (size_t)r * classes;
        int label = host_labels[r], best;
        float total = softmax(z, classes, d, &best);

        d[label] -= 1;
        tally[0] += logf(total) + z[best] - z[label];
        tally[1] += best == label;
    }
}

void kernels_softmax(const float *logits, int rows, int classes,
                     float *host_probability, uint8_t *host_best)
{
    for (int r = 0; r < rows; r++) {
        size_t at = (size_t)r * classes;
        int best;

        softmax(logits + at, classes, host_probability + at, &best);
        host_best[r] = best;
    }
}

void kernels_gradient(const float *delta, const float *input, int rows, int in, int out,
                      float *weight, float *bias)
{
    memset(bias, 0, out * sizeof *bias);
    for (int r = 0; r < rows; r++) {
        const float *row = delta + (size_t)r * out;
#pragma omp simd
        for (int i = 0; i < out; i++)
            bias[i] += row[i];
    }
    if (rows > 0)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, rows, 1, delta,
                    out, input, in, 0, weight, in);
    else
        memset(weight, 0, (size_t)in * out * sizeof *weight);
}

void kernels_delta(const float *delta, const float *weight,
                   const float *restrict output, int rows, int in, int out,
                   float *restrict below)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, in, out, 1, delta, out,
                weight, in, 0, below, in);
#pragma omp simd
    for (size_t i = 0; i < (size_t)rows * in; i++)
        below[i] = output[i] > 0 ? below[i] : 0;
}

void kernels_sgd(float *restrict w, float *restrict v, const float *restrict grads,
                 size_t n, float lr, float momentum, const float *rows)
{
    float scale = 1 / *rows;

#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        v[i] = momentum * v[i] + scale * grads[i];
        w[i] -= lr * v[i];
    }
}
