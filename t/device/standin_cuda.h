/*
 * standin_cuda.h - what the stand-in for libcuda.so.1 has beyond CUDA, for tests.
 */
#ifndef RAYTRAIN_TEST_STANDIN_CUDA_H
#define RAYTRAIN_TEST_STANDIN_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* Queue a "kernel", kernel(arg), on a stream; NULL is the default stream. */
int standin_launch(void *stream, void (*kernel)(void *arg), void *arg);
/* One that may wait for other processes, and takes memory by standin_memory(). */
int standin_launch_long(void *stream, void (*kernel)(void *arg), void *arg);
/* All that is queued on it may run now, in another thread. */
void standin_start(void *stream);
/* Queue a kernel that fails, as by an illegal address. */
int standin_fault(void *stream);
/* cudaDeviceReset(): all that the GPU has is gone. What was queued is not done. */
void standin_reset(int device);
/* That of the current context; -1: there is none. */
int standin_device(void);
/* Where the stand-in for NCCL reaches memory; NULL if this is not n bytes of the GPU. */
void *standin_memory(uint64_t at, size_t n, int device);
/* Where a kernel reaches memory of the device. */
void *standin_inside(uint64_t device);
/* Threads other than the main one that wait for an event which is recorded from now on wait
 * until standin_hold(0): what they would have waited for runs late. */
int standin_hold(int hold);
/* All that was allocated or created and is still there. */
int standin_count(void);

#endif
