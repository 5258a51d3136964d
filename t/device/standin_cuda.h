/*
 * standin_cuda.h - what the stand-in for libcuda.so.1 has beyond CUDA, for tests.
 */
#ifndef RAYTRAIN_TEST_STANDIN_CUDA_H
#define RAYTRAIN_TEST_STANDIN_CUDA_H

#include <stdint.h>

/* Queue a "kernel", kernel(arg), on a stream; NULL is the default stream. */
int standin_launch(void *stream, void (*kernel)(void *arg), void *arg);
/* Where a kernel reaches memory of the device. */
void *standin_inside(uint64_t device);
/* All that was allocated or created and is still there. */
int standin_count(void);

#endif
