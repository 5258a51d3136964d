/*
 * mlp_kernels.h - what the network of mlp.c computes with: mlp_cpu.c for the CPU, by
 * OpenBLAS, and mlp_cuda.cu for an NVIDIA GPU, by cuBLAS. The build line has one of them.
 *
 * Matrices are row-major. Memory is that of kernels_alloc(), which is the GPU's, except
 * what is called `host`. On a GPU, work is queued on the default stream and calls return
 * at once; kernels_read() waits. A failure of CUDA ends the process with a message.
 */
#ifndef MLP_KERNELS_H
#define MLP_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of the GPU, as for cudaSetDevice(); -1: all is in host memory. */
int kernels_device(void);

/* n bytes, all zero; NULL without memory. */
void *kernels_alloc(size_t n);
void kernels_free(void *p);
void kernels_write(void *to, const void *host, size_t n);
void kernels_read(void *host, const void *from, size_t n);
void kernels_zero(void *p, size_t n);

/* Scale n pixels to inputs with about mean 0 and deviation 1. */
void kernels_pixels(const uint8_t *host, size_t n, float *input);

/* output [rows][out] = input [rows][in] weight' + bias, and its ReLU; weight [out][in] */
void kernels_layer(const float *input, const float *weight, const float *bias, int rows,
                   int in, int out, int has_relu, float *output);

/* Of each row of logits [rows][classes]: delta = softmax - one-hot row of the label. Add to
 * tally[0] the cross entropies, to tally[1] how often the label is the best class. */
void kernels_loss(const float *logits, const uint8_t *host_labels, int rows,
                  int classes, float *delta, double *tally);

/* The probabilities of each row's classes, and its best one; both to host memory. */
void kernels_softmax(const float *logits, int rows, int classes,
                     float *host_probability, uint8_t *host_best);

/* weight [out][in] = delta' input, bias [out] = the sum of delta's rows */
void kernels_gradient(const float *delta, const float *input, int rows, int in, int out,
                      float *weight, float *bias);

/* delta of the layer below = delta weight, if its output [rows][in] is not 0 (its ReLU) */
void kernels_delta(const float *delta, const float *weight, const float *output,
                   int rows, int in, int out, float *below);

/* v = momentum v + grads / *rows; w -= lr v; for n numbers. *rows is kernels' memory. */
void kernels_sgd(float *w, float *v, const float *grads, size_t n, float lr,
                 float momentum, const float *rows);

#ifdef __cplusplus
}
#endif

#endif
