/*
 * standin_mpi.c - a stand-in for an MPI library that takes GPU memory, over the stand-in
 * for libcuda.so.1 (standin_cuda.c): preloaded, it says that there is CUDA support, and passes
 * MPI_Ibcast() and MPI_Iallgather() on to the real library, by way of host memory if their
 * buffers are on a GPU. The calls are complete when they return.
 *
 * Its copies have a stream of their own, so that work is not done yet for which the caller of
 * MPI should have waited.
 *
 *   STANDIN_MPI_LOG=FILE   append a line "direct PID" for each call with GPU memory
 */
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static struct {
    int (*cuPointerGetAttribute)(void *value, int attribute, uint64_t p);
    int (*cuMemHostAlloc)(void **p, size_t n, unsigned int flags);
    int (*cuMemFreeHost)(void *p);
    int (*cuStreamCreate)(void **stream, unsigned int flags);
    int (*cuStreamDestroy_v2)(void *stream);
    int (*cuStreamSynchronize)(void *stream);
    int (*cuMemcpyDtoHAsync_v2)(void *to, uint64_t from, size_t n, void *stream);
    int (*cuMemcpyHtoDAsync_v2)(uint64_t to, const void *from, size_t n, void *stream);
} cuda;

static void must(int is_right)
{
    if (!is_right)
        abort();
}

static void find(void *object, const char *name, void *place)
{
    void *symbol = dlsym(object, name);

    must(symbol != NULL);
    memcpy(place, &symbol, sizeof symbol);
}
#define FIND(object, name) find(object, #name, &cuda.name)

/* Is the library of GPUs there, without opening it? */
static int has_devices(void)
{
    void *object = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    if (!object)
        return 0;
    FIND(object, cuPointerGetAttribute);
    FIND(object, cuMemHostAlloc);
    FIND(object, cuMemFreeHost);
    FIND(object, cuStreamCreate);
    FIND(object, cuStreamDestroy_v2);
    FIND(object, cuStreamSynchronize);
    FIND(object, cuMemcpyDtoHAsync_v2);
    FIND(object, cuMemcpyHtoDAsync_v2);
    return 1;
}

/* A buffer of a call: host memory, or a copy of GPU memory. */
struct buffer {
    char *device, *host;
    size_t n;
    void *stream;
};

static void note(void)
{
    const char *path = getenv("STANDIN_MPI_LOG");
    FILE *log = path ? fopen(path, "ae") : NULL;

    if (log) {
        fprintf(log, "direct %d\n", (int)getpid());
        fclose(log);
    }
}

static struct buffer buffer_open(const void *p, size_t n)
{
    struct buffer b = {.host = (char *)p, .n = n};
    unsigned int type = 0;
    void *host;

    if (n == 0 || !has_devices() ||
        cuda.cuPointerGetAttribute(&type, 2, (uintptr_t)p) != 0 || type != 2)
        return b;
    note();
    b.device = b.host;
    must(cuda.cuMemHostAlloc(&host, n, 0) == 0 &&
         cuda.cuStreamCreate(&b.stream, 1) == 0 &&
         cuda.cuMemcpyDtoHAsync_v2(host, (uintptr_t)p, n, b.stream) == 0 &&
         cuda.cuStreamSynchronize(b.stream) == 0);
    b.host = host;
    return b;
}

static void buffer_close(struct buffer *b, int is_written)
{
    if (!b->device)
        return;
    if (is_written)
        must(cuda.cuMemcpyHtoDAsync_v2((uintptr_t)b->device, b->host, b->n,
                                       b->stream) == 0 &&
             cuda.cuStreamSynchronize(b->stream) == 0);
    must(cuda.cuStreamDestroy_v2(b->stream) == 0 && cuda.cuMemFreeHost(b->host) == 0);
}

/* The call is complete then. */
static void request_wait(MPI_Request *request)
{
    int done = 0;

    while (!done) {
        must(MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        sched_yield();
    }
}

static size_t bytes_of(int n, MPI_Datatype type)
{
    int size;

    must(MPI_Type_size(type, &size) == MPI_SUCCESS);
    return (size_t)n * (size_t)size;
}

API int MPIX_GPU_query_support(int gpu, int *is_supported)
{
    *is_supported = gpu == 0;
    return MPI_SUCCESS;
}

API int MPI_Ibcast(void *p, int n, MPI_Datatype type, int root, MPI_Comm comm,
                   MPI_Request *request)
{
    struct buffer b = buffer_open(p, bytes_of(n, type));
    int (*next)(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *);
    int rank, rc;

    find(RTLD_NEXT, "MPI_Ibcast", &next);
    rc = next(b.host, n, type, root, comm, request);
    if (rc != MPI_SUCCESS || !b.device)
        return rc;
    request_wait(request);
    MPI_Comm_rank(comm, &rank);
    buffer_close(&b, rank != root);
    return rc;
}

API int MPI_Iallgather(const void *send, int n_send, MPI_Datatype send_type, void *recv,
                       int n_recv, MPI_Datatype recv_type, MPI_Comm comm,
                       MPI_Request *request)
{
    struct buffer from = buffer_open(send, bytes_of(n_send, send_type)), to;
    int (*next)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                MPI_Request *);
    int size, rc;

    MPI_Comm_size(comm, &size);
    to = buffer_open(recv, bytes_of(n_recv, recv_type) * (size_t)size);
    find(RTLD_NEXT, "MPI_Iallgather", &next);
    rc = next(from.host, n_send, send_type, to.host, n_recv, recv_type, comm, request);
    if (rc != MPI_SUCCESS || (!from.device && !to.device))
        return rc;
    request_wait(request);
    buffer_close(&from, 0);
    buffer_close(&to, 1);
    return rc;
}
