/*
 * cuda.c - NVIDIA GPUs, by the driver API of CUDA: libcuda.so.1, which is a part of the
 * driver, opened at run time.
 *
 * It needs no header of CUDA: the types and numbers that are used are written here.
 * Functions are called by the library's names; cuda.h maps names without _v2 to those
 * with it. The version of CUDA that introduced each one is given below. The latest is
 * 11.0, which is required as a whole.
 *
 * The user's calls may be those of the runtime API, which uses the primary context of a
 * GPU: so does this file. The default stream is the legacy one (that of functions whose
 * names have no _ptsz or _ptds).
 */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/vendor.h"
#include "raytrain.h"

#define FILE_NAME "libcuda.so.1"
#define OLDEST    11000 /* 1000 x major + 10 x minor */

/* ---- The driver API ---- */

typedef int result;       /* CUresult */
typedef int ordinal;      /* CUdevice: the number of a GPU */
typedef uint64_t address; /* CUdeviceptr */
typedef void *handle;     /* CUcontext, CUstream, CUevent */

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_CAPTURE_IMPLICIT = 906, /* a stream for which the default stream waits */

    CUDA_POINTER_CONTEXT = 1, /* CU_POINTER_ATTRIBUTE_CONTEXT */
    CUDA_POINTER_MEMORY_TYPE =
        2,                     /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE, an unsigned int */
    CUDA_POINTER_NUMBER = 7,   /* CU_POINTER_ATTRIBUTE_BUFFER_ID, 64 bits */
    CUDA_POINTER_ORDINAL = 9,  /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, an int */
    CUDA_POINTER_START = 11,   /* CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, an address */
    CUDA_POINTER_SIZE = 12,    /* CU_POINTER_ATTRIBUTE_RANGE_SIZE, a size_t */
    CUDA_MEMORY_OF_DEVICE = 2, /* CU_MEMORYTYPE_DEVICE */

    CUDA_HOST_PORTABLE = 1, /* CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE */
    CUDA_STREAM_NON_BLOCKING = 1, /* CU_STREAM_NON_BLOCKING */
    CUDA_EVENT_BLOCKING_SYNC =
        1, /* CU_EVENT_BLOCKING_SYNC: a thread that waits sleeps */
    CUDA_EVENT_DISABLE_TIMING = 2, /* CU_EVENT_DISABLE_TIMING */

    CUDA_CAPTURE_NONE = 0,    /* CU_STREAM_CAPTURE_STATUS_NONE */
    CUDA_CAPTURE_RELAXED = 2, /* CU_STREAM_CAPTURE_MODE_RELAXED */

    CUDA_DEPTH_MAX = 8 /* of enter() within enter() */
};

#define CUDA_FUNCTIONS(F)                                                              \
    /* CUDA 2.0 or earlier */                                                          \
    F(cuInit, (unsigned int flags))                                                    \
    F(cuDeviceGetCount, (int *count))                                                  \
    F(cuStreamCreate, (handle * stream, unsigned int flags))                           \
    F(cuEventCreate, (handle * event, unsigned int flags))                             \
    F(cuEventRecord, (handle event, handle stream))                                    \
    F(cuEventSynchronize, (handle event))                                              \
    F(cuEventQuery, (handle event))                                                    \
    F(cuMemFreeHost, (void *p))                                                        \
    /* 2.2 */                                                                          \
    F(cuDriverGetVersion, (int *version))                                              \
    F(cuMemHostAlloc, (void **p, size_t n, unsigned int flags))                        \
    /* 3.2 */                                                                          \
    F(cuMemcpyDtoHAsync_v2, (void *to, address from, size_t n, handle stream))         \
    F(cuMemcpyHtoDAsync_v2, (address to, const void *from, size_t n, handle stream))   \
    F(cuMemAlloc_v2, (address * p, size_t n))                                          \
    F(cuMemFree_v2, (address p))                                                       \
    F(cuMemsetD8Async, (address to, unsigned char value, size_t n, handle stream))     \
    F(cuStreamWaitEvent, (handle stream, handle event, unsigned int flags))            \
    /* 4.0; the GPU and the allocation of a pointer, 10.2 or earlier */                \
    F(cuCtxPushCurrent_v2, (handle context))                                           \
    F(cuCtxPopCurrent_v2, (handle * context))                                          \
    F(cuStreamDestroy_v2, (handle stream))                                             \
    F(cuEventDestroy_v2, (handle event))                                               \
    F(cuMemHostUnregister, (void *p))                                                  \
    F(cuPointerGetAttribute, (void *value, int attribute, address p))                  \
    /* 4.1 */                                                                          \
    F(cuDeviceGetPCIBusId, (char *place, int size, ordinal id))                        \
    /* 6.0 */                                                                          \
    F(cuGetErrorName, (result r, const char **name))                                   \
    F(cuGetErrorString, (result r, const char **text))                                 \
    /* 6.5 */                                                                          \
    F(cuMemHostRegister_v2, (void *p, size_t n, unsigned int flags))                   \
    /* 7.0 */                                                                          \
    F(cuDevicePrimaryCtxRetain, (handle * context, ordinal id))                        \
    /* 9.2 */                                                                          \
    F(cuStreamGetCtx, (handle stream, handle * context))                               \
    /* 10.0 */                                                                         \
    F(cuStreamIsCapturing, (handle stream, int *status))                               \
    /* 10.1 */                                                                         \
    F(cuThreadExchangeStreamCaptureMode, (int *mode))                                  \
    /* 11.0 */                                                                         \
    F(cuDevicePrimaryCtxRelease_v2, (ordinal id))

#define MEMBER(name, arguments) result(*name) arguments;
static struct {
    CUDA_FUNCTIONS(MEMBER)
} cuda;
static int n_devices;

/* Turn the result of a call into 0, or -1 with an error. */
static int cuda_outcome(result r, const char *function, struct error *err)
{
    const char *name = NULL, *text = NULL;
    raytrain_status code =
        r == CUDA_ERROR_OUT_OF_MEMORY ? RAYTRAIN_ENOMEM : RAYTRAIN_EFAILED;

    if (r == CUDA_SUCCESS)
        return 0;
    if (cuda.cuGetErrorName(r, &name) != CUDA_SUCCESS)
        name = NULL;
    if (cuda.cuGetErrorString(r, &text) != CUDA_SUCCESS)
        text = NULL;
    return error_set(err, code, "CUDA's %s() returned %d, %s: %s%s", function, r,
                     name ? name : "an unknown error", text ? text : "no text",
                     vendor_hint(r));
}

/* Call a function of the library. */
#define CALL(name, arguments, err) cuda_outcome(cuda.name arguments, #name, err)

/* ---- The library ---- */

static int cuda_symbols_find(void *object, struct error *err)
{
    static const char *const names[] = {
#define NAME(name, arguments) #name,
        CUDA_FUNCTIONS(NAME)};
    void *const places[] = {
#define PLACE(name, arguments) &cuda.name,
        CUDA_FUNCTIONS(PLACE)};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *symbol = dlsym(object, names[i]);

        if (!symbol)
            return error_set(err, RAYTRAIN_ENOTSUP,
                             "the CUDA driver " FILE_NAME " has no %s(): update it to "
                             "one for CUDA 11.0 or later",
                             names[i]);
        memcpy(places[i], &symbol, sizeof symbol);
    }
    return 0;
}

static int cuda_version_check(struct error *err)
{
    int version;

    if (CALL(cuDriverGetVersion, (&version), err) < 0)
        return -1;
    if (version >= OLDEST)
        return 0;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "the CUDA driver " FILE_NAME
                     " is for CUDA %d.%d: update it to one "
                     "for CUDA 11.0 or later",
                     version / 1000, version % 1000 / 10);
}

static int cuda_library_init(struct error *err)
{
    result r;

    if (cuda_version_check(err) < 0)
        return -1;
    r = cuda.cuInit(0);
    if (r == CUDA_ERROR_NO_DEVICE)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "there is no CUDA GPU that this process may use: ask for one "
                         "with --gpu, and look at CUDA_VISIBLE_DEVICES");
    if (cuda_outcome(r, "cuInit", err) < 0)
        return -1;
    return CALL(cuDeviceGetCount, (&n_devices), err);
}

static int cuda_library_load(struct error *err)
{
    void *object = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);

    if (!object)
        return error_set(
            err, RAYTRAIN_ENOTSUP,
            "tensors on CUDA GPUs need the library of NVIDIA's driver: %s; "
            "install the driver, or run on a node with a GPU",
            dlerror());
    if (cuda_symbols_find(object, err) == 0 && cuda_library_init(err) == 0)
        return 0;
    dlclose(object);
    return -1;
}

static int cuda_open(struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded;
    int rc = 0;

    pthread_mutex_lock(&lock);
    if (!loaded)
        rc = cuda_library_load(err);
    loaded = rc == 0;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- GPUs and memory ---- */

static int cuda_device_open(int id, void **context, struct error *err)
{
    if (id < 0 || id >= n_devices)
        return error_set(err, RAYTRAIN_EINVAL,
                         "there is no CUDA GPU %d: this process may use %d, which "
                         "are counted from 0 on (CUDA_VISIBLE_DEVICES)",
                         id, n_devices);
    return CALL(cuDevicePrimaryCtxRetain, (context, id), err);
}

static void cuda_device_close(int id)
{
    cuda.cuDevicePrimaryCtxRelease_v2(id);
}

static int cuda_device_place(int id, char place[VENDOR_PLACE_MAX], struct error *err)
{
    return CALL(cuDeviceGetPCIBusId, (place, VENDOR_PLACE_MAX, id), err);
}

/* This thread's mode for captures of graphs outside of each enter(). */
static _Thread_local int modes[CUDA_DEPTH_MAX], depth;

/* In the default mode of a thread, a wait or an allocation invalidates the capture of
 * any other thread. */
static int cuda_enter(void *context, struct error *err)
{
    int mode = CUDA_CAPTURE_RELAXED;
    handle popped;

    if (depth == CUDA_DEPTH_MAX)
        return error_set(err, RAYTRAIN_EFAILED, "GPUs are entered within each other");
    if (CALL(cuCtxPushCurrent_v2, (context), err) < 0)
        return -1;
    if (CALL(cuThreadExchangeStreamCaptureMode, (&mode), err) < 0) {
        cuda.cuCtxPopCurrent_v2(&popped);
        return -1;
    }
    modes[depth++] = mode;
    return 0;
}

static void cuda_leave(void)
{
    handle context;

    cuda.cuThreadExchangeStreamCaptureMode(&modes[--depth]);
    cuda.cuCtxPopCurrent_v2(&context);
}

/* CUDA_ERROR_INVALID_VALUE: CUDA has not allocated this memory. */
static int cuda_locate(const void *p, int *id, void **context, struct error *err)
{
    address at = (address)(uintptr_t)p;
    unsigned int type = 0;
    result r = cuda.cuPointerGetAttribute(&type, CUDA_POINTER_MEMORY_TYPE, at);

    *id = VENDOR_NO_DEVICE;
    *context = NULL;
    if (r == CUDA_ERROR_INVALID_VALUE ||
        (r == CUDA_SUCCESS && type != CUDA_MEMORY_OF_DEVICE))
        return 0;
    if (cuda_outcome(r, "cuPointerGetAttribute", err) < 0)
        return -1;
    /* Memory of a pool belongs to no context. */
    if (cuda.cuPointerGetAttribute(context, CUDA_POINTER_CONTEXT, at) != CUDA_SUCCESS)
        *context = NULL;
    return CALL(cuPointerGetAttribute, (id, CUDA_POINTER_ORDINAL, at), err);
}

/* Mappings in one reservation of addresses are one allocation, as they are for
 * copies. */
static int cuda_allocation(const void *p, const void **start, size_t *n,
                           struct error *err)
{
    address first = 0, at = (address)(uintptr_t)p;

    if (CALL(cuPointerGetAttribute, (&first, CUDA_POINTER_START, at), err) < 0)
        return -1;
    *start = (const void *)(uintptr_t)first;
    return CALL(cuPointerGetAttribute, (n, CUDA_POINTER_SIZE, at), err);
}

/* When a context is destroyed, its memory is freed. */
static int cuda_allocation_number(const void *p, uint64_t *number, struct error *err)
{
    result r = cuda.cuPointerGetAttribute(number, CUDA_POINTER_NUMBER, (uintptr_t)p);

    if (r == CUDA_SUCCESS)
        return 0;
    *number = 0;
    if (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
        r == CUDA_ERROR_INVALID_CONTEXT || r == CUDA_ERROR_DEINITIALIZED)
        return 0;
    return cuda_outcome(r, "cuPointerGetAttribute", err);
}

static int cuda_memory_alloc(size_t n, void **p, struct error *err)
{
    address at = 0;
    int rc = CALL(cuMemAlloc_v2, (&at, n), err);

    *p = (void *)(uintptr_t)at;
    return rc;
}

static void cuda_memory_free(void *p)
{
    cuda.cuMemFree_v2((uintptr_t)p);
}

static int cuda_pinned_alloc(size_t n, void **p, struct error *err)
{
    return CALL(cuMemHostAlloc, (p, n, CUDA_HOST_PORTABLE), err);
}

static void cuda_pinned_free(void *p)
{
    cuda.cuMemFreeHost(p);
}

static int cuda_pin(void *p, size_t n, struct error *err)
{
    return CALL(cuMemHostRegister_v2, (p, n, CUDA_HOST_PORTABLE), err);
}

static void cuda_unpin(void *p)
{
    cuda.cuMemHostUnregister(p);
}

/* ---- Streams, copies, events ---- */

static int cuda_stream_create(void **stream, struct error *err)
{
    return CALL(cuStreamCreate, (stream, CUDA_STREAM_NON_BLOCKING), err);
}

static void cuda_stream_destroy(void *stream)
{
    cuda.cuStreamDestroy_v2(stream);
}

static int cuda_is_capturing(void *stream, bool *capturing, struct error *err)
{
    int status = CUDA_CAPTURE_NONE;
    result r = cuda.cuStreamIsCapturing(stream, &status);

    *capturing = r == CUDA_ERROR_CAPTURE_IMPLICIT || status != CUDA_CAPTURE_NONE;
    return r == CUDA_ERROR_CAPTURE_IMPLICIT
               ? 0
               : cuda_outcome(r, "cuStreamIsCapturing", err);
}

static int cuda_stream_context(void *stream, void **context, struct error *err)
{
    return CALL(cuStreamGetCtx, (stream, context), err);
}

static int cuda_copy_out(void *host, const void *device, size_t n, void *stream,
                         struct error *err)
{
    return CALL(cuMemcpyDtoHAsync_v2, (host, (uintptr_t)device, n, stream), err);
}

static int cuda_copy_in(void *device, const void *host, size_t n, void *stream,
                        struct error *err)
{
    return CALL(cuMemcpyHtoDAsync_v2, ((uintptr_t)device, host, n, stream), err);
}

static int cuda_clear(void *device, size_t n, void *stream, struct error *err)
{
    return CALL(cuMemsetD8Async, ((uintptr_t)device, 0, n, stream), err);
}

static int cuda_event_create(void **event, struct error *err)
{
    return CALL(cuEventCreate,
                (event, CUDA_EVENT_BLOCKING_SYNC | CUDA_EVENT_DISABLE_TIMING), err);
}

static void cuda_event_destroy(void *event)
{
    cuda.cuEventDestroy_v2(event);
}

static int cuda_event_record(void *event, void *stream, struct error *err)
{
    return CALL(cuEventRecord, (event, stream), err);
}

static int cuda_stream_wait(void *stream, void *event, struct error *err)
{
    return CALL(cuStreamWaitEvent, (stream, event, 0), err);
}

static int cuda_event_wait(void *event, struct error *err)
{
    return CALL(cuEventSynchronize, (event), err);
}

static int cuda_event_done(void *event, bool *done, struct error *err)
{
    result r = cuda.cuEventQuery(event);

    *done = r == CUDA_SUCCESS;
    return r == CUDA_ERROR_NOT_READY ? 0 : cuda_outcome(r, "cuEventQuery", err);
}

const struct device_vendor cuda_vendor = {
    .kind = RAYTRAIN_CUDA,
    .name = "CUDA",
    .collectives = "libnccl.so.2",
    .open = cuda_open,
    .device_open = cuda_device_open,
    .device_close = cuda_device_close,
    .device_place = cuda_device_place,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .locate = cuda_locate,
    .allocation = cuda_allocation,
    .allocation_number = cuda_allocation_number,
    .memory_alloc = cuda_memory_alloc,
    .memory_free = cuda_memory_free,
    .pinned_alloc = cuda_pinned_alloc,
    .pinned_free = cuda_pinned_free,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .is_capturing = cuda_is_capturing,
    .stream_context = cuda_stream_context,
    .copy_out = cuda_copy_out,
    .copy_in = cuda_copy_in,
    .clear = cuda_clear,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .stream_wait = cuda_stream_wait,
    .event_wait = cuda_event_wait,
    .event_done = cuda_event_done,
};
