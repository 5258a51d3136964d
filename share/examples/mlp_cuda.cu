/*
 * mlp_cuda.cu - the kernels of mlp_kernels.h for an NVIDIA GPU: products by cuBLAS, the
 * rest by kernels of its own.
 *
 *     nvcc -O2 -Xcompiler -fPIC -c mlp_cuda.cu
 *     cc -O2 -shared -fPIC -o fashion_mlp.so fashion_mlp.c mlp.c mlp_cuda.o \
 *         $(pkg-config --cflags --libs raytrain) -L/usr/local/cuda/lib64 \
 *         -lcublas -lcudart -lstdc++ -lm
 *     raytrain-run --gpu --workers 2 -c fashion_mlp.cfg
 *
 * With --gpu each worker sees its own GPU only, which is GPU 0. All work is queued on the
 * default stream, for which raytrain's calls wait. Each kernel works for any number of
 * blocks and threads, and no sum depends on their timing.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_kernels.h"

#define THREADS    256 /* of a block; a power of 2 */
#define BLOCKS_MAX 1024
#define STAGES     4 /* copies to the GPU that may be under way */

#ifdef __CUDACC__
#define LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads>>>(__VA_ARGS__)
#endif

/* ---- Failures, the GPU, memory ---- */

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "fashion_mlp: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

static void check_blas(cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "fashion_mlp: %s: cuBLAS returned %d\n", what, (int)status);
    exit(1);
}

static cublasHandle_t blas(void)
{
    static cublasHandle_t handle;

    if (!handle)
        check_blas(cublasCreate(&handle), "cublasCreate");
    return handle;
}

int kernels_device(void)
{
    int device;

    check(cudaGetDevice(&device), "there is no GPU to train on");
    return device;
}

void *kernels_alloc(size_t n)
{
    void *p;
    cudaError_t error = cudaMalloc(&p, n > 0 ? n : 1);

    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* or the next kernel seems to have failed */
        return NULL;
    }
    check(error, "cudaMalloc");
    kernels_zero(p, n);
    return p;
}

void kernels_free(void *p)
{
    check(cudaFree(p), "cudaFree");
}

void kernels_zero(void *p, size_t n)
{
    check(cudaMemsetAsync(p, 0, n, 0), "cudaMemsetAsync");
}

void kernels_read(void *host, const void *from, size_t n)
{
    check(cudaMemcpy(host, from, n, cudaMemcpyDeviceToHost), "a copy from the GPU");
}

/* The bytes at `host` may change as soon as this returns: they have been copied to one of a
 * few pinned buffers, from which the GPU gets them in its turn. */
void kernels_write(void *to, const void *host, size_t n)
{
    static struct {
        void *memory;
        size_t size;
        cudaEvent_t copied;
    } stages[STAGES], *s;
    static unsigned int turn;

    s = &stages[turn++ % STAGES];
    if (!s->copied)
        check(cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming),
              "cudaEventCreate");
    check(cudaEventSynchronize(s->copied), "a copy to the GPU");
    if (s->size < n) {
        check(cudaFreeHost(s->memory), "cudaFreeHost");
        check(cudaMallocHost(&s->memory, n), "cudaMallocHost");
        s->size = n;
    }
    memcpy(s->memory, host, n);
    check(cudaMemcpyAsync(to, s->memory, n, cudaMemcpyHostToDevice, 0),
          "a copy to the GPU");
    check(cudaEventRecord(s->copied, 0), "cudaEventRecord");
}

/* Memory of the GPU that keeps its address until more is asked for. */
struct scratch {
    void *memory;
    size_t size;
};

static void *scratch_get(struct scratch *s, size_t n)
{
    if (s->size >= n)
        return s->memory;
    kernels_free(s->memory);
    s->memory = kernels_alloc(n);
    if (!s->memory)
        check(cudaErrorMemoryAllocation, "cudaMalloc");
    s->size = n;
    return s->memory;
}

/* ---- Kernels ---- */

static int blocks_of(size_t n)
{
    size_t blocks = (n + THREADS - 1) / THREADS;

    return blocks < BLOCKS_MAX ? (int)blocks : BLOCKS_MAX;
}

#define FOR_EACH(i, n)                                                                 \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);            \
         i += (size_t)gridDim.x * blockDim.x)

static __global__ void scale_pixels(const uint8_t *pixels, size_t n, float *input)
{
    FOR_EACH(i, n)
    input[i] = ((float)pixels[i] - 72.94f) * (1 / 90.02f);
}

static __global__ void add_bias(float *output, const float *bias, size_t n, int out,
                                int has_relu)
{
    FOR_EACH(i, n)
    {
        float y = output[i] + bias[i % out];

        output[i] = y > 0 || !has_relu ? y : 0;
    }
}

static __global__ void mask_delta(float *below, const float *output, size_t n)
{
    FOR_EACH(i, n)
    below[i] = output[i] > 0 ? below[i] : 0;
}

static __global__ void fill(float *p, size_t n, float value)
{
    FOR_EACH(i, n)
    p[i] = value;
}

static __device__ float row_softmax(const float *z, int classes, float *probability,
                                    int *best)
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

static __global__ void softmax(const float *logits, int rows, int classes,
                               float *probability, uint8_t *bests)
{
    FOR_EACH(r, (size_t)rows)
    {
        int best;

        row_softmax(logits + r * classes, classes, probability + r * classes, &best);
        bests[r] = (uint8_t)best;
    }
}

/* The sum of the values of a block's threads, in thread 0. */
static __device__ double block_sum(double value)
{
    static __shared__ double sums[THREADS];

    __syncthreads(); /* the sums before have been read */
    sums[threadIdx.x] = value;
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    return sums[0];
}

/* One block, so that the sums are the same each time. */
static __global__ void softmax_loss(const float *logits, const uint8_t *labels,
                                    int rows, int classes, float *delta, double *tally)
{
    double loss = 0, correct = 0;

    FOR_EACH(r, (size_t)rows)
    {
        const float *z = logits + r * classes;
        float *d = delta + r * classes;
        int label = labels[r], best;
        float total = row_softmax(z, classes, d, &best);

        d[label] -= 1;
        loss += logf(total) + z[best] - z[label];
        correct += best == label;
    }
    loss = block_sum(loss);
    correct = block_sum(correct);
    if (threadIdx.x == 0) {
        tally[0] += loss;
        tally[1] += correct;
    }
}

static __global__ void sgd(float *w, float *v, const float *grads, size_t n, float lr,
                           float momentum, const float *rows)
{
    float scale = 1 / *rows;

    FOR_EACH(i, n)
    {
        v[i] = momentum * v[i] + scale * grads[i];
        w[i] -= lr * v[i];
    }
}

/* ---- The interface ---- */

/* cuBLAS has columns where C has rows: a row-major matrix is the transpose of a column-major
 * one. So this is C' = B' A'. */
static void product(int has_a_transposed, int has_b_transposed, int m, int n, int k,
                    const float *a, const float *b, float *c)
{
    const float one = 1, zero = 0;

    check_blas(cublasSgemm(blas(), has_b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                           has_a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one,
                           b, has_b_transposed ? k : n, a, has_a_transposed ? m : k,
                           &zero, c, n),
               "cublasSgemm");
}

void kernels_pixels(const uint8_t *host, size_t n, float *input)
{
    static struct scratch bytes;
    uint8_t *pixels = (uint8_t *)scratch_get(&bytes, n);

    kernels_write(pixels, host, n);
    LAUNCH(scale_pixels, blocks_of(n), THREADS, pixels, n, input);
    check(cudaGetLastError(), "scale_pixels");
}

void kernels_layer(const float *input, const float *weight, const float *bias, int rows,
                   int in, int out, int has_relu, float *output)
{
    size_t n = (size_t)rows * out;

    if (n == 0)
        return;
    product(0, 1, rows, out, in, input, weight, output);
    LAUNCH(add_bias, blocks_of(n), THREADS, output, bias, n, out, has_relu);
    check(cudaGetLastError(), "add_bias");
}

void kernels_loss(const float *logits, const uint8_t *host_labels, int rows,
                  int classes, float *delta, double *tally)
{
    static struct scratch bytes;
    uint8_t *labels = (uint8_t *)scratch_get(&bytes, (size_t)rows);

    kernels_write(labels, host_labels, (size_t)rows);
    LAUNCH(softmax_loss, 1, THREADS, logits, labels, rows, classes, delta, tally);
    check(cudaGetLastError(), "softmax_loss");
}

void kernels_softmax(const float *logits, int rows, int classes,
                     float *host_probability, uint8_t *host_best)
{
    static struct scratch numbers, bytes;
    size_t n = (size_t)rows * classes * sizeof(float);
    float *probability = (float *)scratch_get(&numbers, n);
    uint8_t *best = (uint8_t *)scratch_get(&bytes, (size_t)rows);

    if (rows == 0)
        return;
    LAUNCH(softmax, blocks_of((size_t)rows), THREADS, logits, rows, classes,
           probability, best);
    check(cudaGetLastError(), "softmax");
    kernels_read(host_probability, probability, n);
    kernels_read(host_best, best, (size_t)rows);
}

/* The sums of the rows are the product with a vector of ones. */
static void sum_rows(const float *delta, int rows, int out, float *sums)
{
    static struct scratch ones;
    static int n_ones;
    const float one = 1, zero = 0;
    float *vector = (float *)scratch_get(&ones, (size_t)rows * sizeof(float));

    if (n_ones < rows) {
        LAUNCH(fill, blocks_of((size_t)rows), THREADS, vector, (size_t)rows, 1.0f);
        check(cudaGetLastError(), "fill");
        n_ones = rows;
    }
    check_blas(cublasSgemv(blas(), CUBLAS_OP_N, out, rows, &one, delta, out, vector, 1,
                           &zero, sums, 1),
               "cublasSgemv");
}

void kernels_gradient(const float *delta, const float *input, int rows, int in, int out,
                      float *weight, float *bias)
{
    if (rows == 0) {
        kernels_zero(weight, (size_t)in * out * sizeof *weight);
        kernels_zero(bias, (size_t)out * sizeof *bias);
        return;
    }
    product(1, 0, out, in, rows, delta, input, weight);
    sum_rows(delta, rows, out, bias);
}

void kernels_delta(const float *delta, const float *weight, const float *output,
                   int rows, int in, int out, float *below)
{
    size_t n = (size_t)rows * in;

    if (n == 0)
        return;
    product(0, 0, rows, in, out, delta, weight, below);
    LAUNCH(mask_delta, blocks_of(n), THREADS, below, output, n);
    check(cudaGetLastError(), "mask_delta");
}

void kernels_sgd(float *w, float *v, const float *grads, size_t n, float lr,
                 float momentum, const float *rows)
{
    if (n == 0)
        return;
    LAUNCH(sgd, blocks_of(n), THREADS, w, v, grads, n, lr, momentum, rows);
    check(cudaGetLastError(), "sgd");
}
