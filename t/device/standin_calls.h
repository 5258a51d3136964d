/*
 * standin_calls.h - the calls of the stand-in for NVIDIA's driver that training functions of
 * t/check make, as a user's program would by the CUDA runtime. The stand-in for AMD's library
 * has them, too.
 */
#ifndef RAYTRAIN_TEST_STANDIN_CALLS_H
#define RAYTRAIN_TEST_STANDIN_CALLS_H

#include <dlfcn.h>
#include <stdlib.h>

#include "standin_cuda.h"

#define STANDIN_CALLS(F)                                                               \
    F(int, cuInit, (unsigned int))                                                     \
    F(int, cuDevicePrimaryCtxRetain, (void **, int))                                   \
    F(int, cuDevicePrimaryCtxRelease_v2, (int))                                        \
    F(int, cuCtxSetCurrent, (void *))                                                  \
    F(int, cuCtxGetCurrent, (void **))                                                 \
    F(int, cuMemAlloc_v2, (uint64_t *, size_t))                                        \
    F(int, cuMemFree_v2, (uint64_t))                                                   \
    F(int, cuMemHostAlloc, (void **, size_t, unsigned int))                            \
    F(int, cuMemFreeHost, (void *))                                                    \
    F(int, cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))             \
    F(int, cuStreamSynchronize, (void *))                                              \
    F(int, cuStreamCreate, (void **, unsigned int))                                    \
    F(int, cuStreamDestroy_v2, (void *))                                               \
    F(int, cuStreamBeginCapture_v2, (void *, int))                                     \
    F(int, cuStreamEndCapture, (void *, void **))                                      \
    F(int, standin_fault, (void *))                                                    \
    F(int, standin_hold, (int))                                                        \
    F(int, standin_launch, (void *, void (*)(void *), void *))                         \
    F(void *, standin_inside, (uint64_t))                                              \
    F(void, standin_reset, (int))

#define STANDIN_MEMBER(type, name, arguments) type(*name) arguments;
static struct {
    STANDIN_CALLS(STANDIN_MEMBER)
} cuda;

static inline void *standin_symbol(void *object, const char *name)
{
    void *found = dlsym(object, name);

    if (!found)
        abort();
    return found;
}

/* First: open the library of this name, and find its calls. */
static inline void standin_open(const char *library)
{
    void *object = dlopen(library, RTLD_NOW);

    if (!object)
        abort();
#define STANDIN_FIND(type, name, arguments)                                            \
    *(void **)&cuda.name = standin_symbol(object, #name);
    STANDIN_CALLS(STANDIN_FIND)
}

/* What a call of the library has returned is 0. */
static inline void must(int rc)
{
    if (rc != 0)
        abort();
}

#endif
