/*
 * cuda_runtime.h - a stand-in for the header of CUDA's runtime API, with which a C++
 * compiler compiles share/examples/mlp_cuda.cu for tests: over the stand-in for
 * libcuda.so.1 (t/device/standin_cuda.c), where a kernel is a function of the host.
 *
 * It is no CUDA. A kernel runs when something waits for it, and gets pointers that can
 * be accessed in place of those to memory of the GPU. It runs as one block of one
 * thread, which a kernel must allow that works for any number of them; with
 * STANDIN_CUDA_THREADS in the environment, as the blocks and threads that the launch
 * says, a block after the other.
 */
#ifndef RAYTRAIN_TEST_CUDA_RUNTIME_H
#define RAYTRAIN_TEST_CUDA_RUNTIME_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>
#include <functional>
#include <thread>
#include <tuple>
#include <vector>

extern "C" {
#include "standin_cuda.h"
int cuInit(unsigned int flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *p, size_t n);
int cuMemFree_v2(uint64_t p);
int cuMemHostAlloc(void **p, size_t n, unsigned int flags);
int cuMemFreeHost(void *p);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream);
int cuStreamSynchronize(void *stream);
int cuEventCreate(void **event, unsigned int flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
}

typedef int cudaError_t;
typedef void *cudaStream_t, *cudaEvent_t;
enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum { cudaEventDisableTiming = 2 };

#define __global__
#define __device__
#define __shared__

struct dim3 {
    unsigned int x;
};
static thread_local dim3 gridDim, blockDim, blockIdx, threadIdx;
static pthread_barrier_t standin_barrier;

static inline void __syncthreads()
{
    if (blockDim.x > 1)
        pthread_barrier_wait(&standin_barrier);
}

/* ---- Work in a stream ---- */

static void standin_run(void *arg)
{
    std::function<void()> *work = (std::function<void()> *)arg;

    (*work)();
    delete work;
}

static inline int standin_queue(std::function<void()> work)
{
    return standin_launch(NULL, standin_run, new std::function<void()>(work));
}

template <class T> static T standin_argument(T value)
{
    return value;
}

template <class T> static T *standin_argument(T *p)
{
    return (T *)standin_inside((uintptr_t)p);
}

/* A block of this number of threads. */
static inline void standin_block(unsigned int n, unsigned int block,
                                 unsigned int blocks, const std::function<void()> &body)
{
    std::vector<std::thread> threads;

    pthread_barrier_init(&standin_barrier, NULL, n);
    for (unsigned int i = 0; i < n; i++)
        threads.emplace_back([=, &body] {
            gridDim.x = blocks;
            blockDim.x = n;
            blockIdx.x = block;
            threadIdx.x = i;
            body();
        });
    for (std::thread &t : threads)
        t.join();
    pthread_barrier_destroy(&standin_barrier);
}

static inline void standin_grid(int blocks, int threads,
                                const std::function<void()> &body)
{
    if (getenv("STANDIN_CUDA_THREADS")) {
        for (int i = 0; i < blocks; i++)
            standin_block(threads, i, blocks, body);
        return;
    }
    gridDim.x = blockDim.x = 1;
    body();
}

template <class... P, class... A>
static void standin_start(void (*kernel)(P...), int blocks, int threads, A... arguments)
{
    std::tuple<P...> given(arguments...);

    standin_queue([=] {
        auto usable = std::apply(
            [](auto... a) { return std::make_tuple(standin_argument(a)...); }, given);

        standin_grid(blocks, threads, [&] { std::apply(kernel, usable); });
    });
}
#define LAUNCH(kernel, blocks, threads, ...)                                           \
    standin_start(kernel, blocks, threads, __VA_ARGS__)

/* ---- The functions that are used ---- */

/* The runtime API makes the primary context current by itself. */
static inline int standin_begin()
{
    static bool begun;
    void *context;

    if (begun)
        return 0;
    begun = cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 &&
            cuCtxSetCurrent(context) == 0;
    return begun ? 0 : 100;
}

static inline const char *cudaGetErrorString(int error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "an error";
}

/* Here an allocation that fails leaves an error; CUDA's other functions do so, too. */
static int standin_last_error;

static inline int cudaGetLastError()
{
    int error = standin_last_error;

    standin_last_error = cudaSuccess;
    return error;
}

static inline int cudaGetDevice(int *device)
{
    *device = 0;
    return standin_begin();
}

template <class T> static int cudaMalloc(T **p, size_t n)
{
    uint64_t address = 0;
    int rc = standin_begin();

    if (rc == 0)
        rc = cuMemAlloc_v2(&address, n);
    if (rc != 0)
        standin_last_error = rc;
    *p = (T *)(uintptr_t)address;
    return rc;
}

static inline int cudaFree(void *p)
{
    return p ? cuMemFree_v2((uintptr_t)p) : 0;
}

template <class T> static int cudaMallocHost(T **p, size_t n)
{
    return cuMemHostAlloc((void **)p, n, 0);
}

static inline int cudaFreeHost(void *p)
{
    return p ? cuMemFreeHost(p) : 0;
}

static inline int cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t)
{
    return standin_queue([=] { memset(standin_argument((char *)p), value, n); });
}

static inline int cudaMemcpyAsync(void *to, const void *from, size_t n,
                                  cudaMemcpyKind kind, cudaStream_t stream)
{
    return kind == cudaMemcpyHostToDevice
               ? cuMemcpyHtoDAsync_v2((uintptr_t)to, from, n, stream)
               : 1;
}

static inline int cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind)
{
    if (kind != cudaMemcpyDeviceToHost ||
        standin_queue([=] { memcpy(to, standin_argument((const char *)from), n); }) !=
            0)
        return 1;
    return cuStreamSynchronize(NULL);
}

static inline int cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return cuEventCreate(event, flags);
}

static inline int cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cuEventRecord(event, stream);
}

static inline int cudaEventSynchronize(cudaEvent_t event)
{
    return cuEventSynchronize(event);
}

#endif
