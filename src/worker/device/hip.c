/*
 * hip.c - AMD GPUs, by the runtime API of HIP: libamdhip64.so of ROCm 5.0 or later,
 * opened at run time. As in cuda.c, the types and numbers that are used are written
 * here.
 *
 * HIP has no contexts: each thread has a current GPU. So a "context" here is the number
 * of a GPU, and enter() keeps the number of the GPU that was current before.
 *
 * If this process has opened the library already, in any version, that is used: another
 * copy would not know its memory. Once opened, it stays open, since closing it is not
 * always safe.
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/vendor.h"
#include "raytrain.h"

static const char *const file_names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                         "libamdhip64.so.5", "libamdhip64.so"};
#define N_NAMES (sizeof file_names / sizeof file_names[0])

/* 10,000,000 x major + 100,000 x minor + patch, as in hipRuntimeGetVersion(). */
#define OLDEST       50000000
#define VERSION_SIX  60000000
#define MAJOR_WEIGHT 10000000
#define MINOR_WEIGHT 100000

/* ---- The runtime API ---- */

typedef int result;   /* hipError_t */
typedef void *handle; /* hipStream_t, hipEvent_t */

/* hipPointerAttribute_t. In ROCm 5 the first member is called memoryType. */
struct attributes {
    int type; /* hipMemoryType */
    int device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned int flags;
    uint64_t more[8]; /* later versions may be larger */
};

enum {
    HIP_SUCCESS = 0,
    HIP_ERROR_INVALID_VALUE = 1,
    HIP_ERROR_OUT_OF_MEMORY = 2,
    HIP_ERROR_NO_DEVICE = 100,
    HIP_ERROR_NOT_READY = 600,
    HIP_ERROR_CAPTURE_IMPLICIT = 906, /* a stream for which the default stream waits */

    HIP_DEVICE_MEMORY_OF_5 = 1, /* hipMemoryTypeDevice until ROCm 5 */
    HIP_DEVICE_MEMORY_OF_6 = 2, /* and from ROCm 6 on */

    HIP_HOST_PORTABLE = 1,        /* hipHostMallocPortable, hipHostRegisterPortable */
    HIP_COPY_HOST_TO_DEVICE = 1,  /* hipMemcpyHostToDevice */
    HIP_COPY_DEVICE_TO_HOST = 2,  /* hipMemcpyDeviceToHost */
    HIP_STREAM_NON_BLOCKING = 1,  /* hipStreamNonBlocking */
    HIP_EVENT_BLOCKING_SYNC = 1,  /* hipEventBlockingSync: a thread that waits sleeps */
    HIP_EVENT_DISABLE_TIMING = 2, /* hipEventDisableTiming */

    HIP_CAPTURE_NONE = 0,    /* hipStreamCaptureStatusNone */
    HIP_CAPTURE_RELAXED = 2, /* hipStreamCaptureModeRelaxed */

    HIP_DEPTH_MAX = 8 /* of enter() within enter() */
};

#define HIP_FUNCTIONS(F)                                                               \
    F(result, hipRuntimeGetVersion, (int *version))                                    \
    F(result, hipGetDeviceCount, (int *count))                                         \
    F(result, hipGetDevice, (int *id))                                                 \
    F(result, hipSetDevice, (int id))                                                  \
    F(result, hipDeviceGetPCIBusId, (char *place, int room, int id))                   \
    F(result, hipGetLastError, (void))                                                 \
    F(const char *, hipGetErrorName, (result r))                                       \
    F(const char *, hipGetErrorString, (result r))                                     \
    F(result, hipPointerGetAttributes, (struct attributes * a, const void *p))         \
    F(result, hipMemGetAddressRange, (void **start, size_t *n, void *p))               \
    F(result, hipMalloc, (void **p, size_t n))                                         \
    F(result, hipFree, (void *p))                                                      \
    F(result, hipHostMalloc, (void **p, size_t n, unsigned int flags))                 \
    F(result, hipHostFree, (void *p))                                                  \
    F(result, hipHostRegister, (void *p, size_t n, unsigned int flags))                \
    F(result, hipHostUnregister, (void *p))                                            \
    F(result, hipMemcpyAsync,                                                          \
      (void *to, const void *from, size_t n, int kind, handle stream))                 \
    F(result, hipMemsetAsync, (void *to, int value, size_t n, handle stream))          \
    F(result, hipStreamCreateWithFlags, (handle * stream, unsigned int flags))         \
    F(result, hipStreamDestroy, (handle stream))                                       \
    F(result, hipStreamWaitEvent, (handle stream, handle event, unsigned int flags))   \
    F(result, hipEventCreateWithFlags, (handle * event, unsigned int flags))           \
    F(result, hipEventDestroy, (handle event))                                         \
    F(result, hipEventRecord, (handle event, handle stream))                           \
    F(result, hipEventSynchronize, (handle event))                                     \
    F(result, hipEventQuery, (handle event))

/* Some releases of ROCm 5 do not have these, and no graphs to capture. */
#define HIP_GRAPH_FUNCTIONS(F)                                                         \
    F(result, hipStreamIsCapturing, (handle stream, int *status))                      \
    F(result, hipThreadExchangeStreamCaptureMode, (int *mode))

#define MEMBER(type, name, arguments) type(*name) arguments;
static struct {
    HIP_FUNCTIONS(MEMBER)
    HIP_GRAPH_FUNCTIONS(MEMBER)
} hip;
static int n_devices;
static int device_memory; /* its number in this version */

/* Turn the result of a call into 0, or -1 with an error. */
static int hip_outcome(result r, const char *function, struct error *err)
{
    const char *name, *text;
    raytrain_status code =
        r == HIP_ERROR_OUT_OF_MEMORY ? RAYTRAIN_ENOMEM : RAYTRAIN_EFAILED;

    if (r == HIP_SUCCESS)
        return 0;
    name = hip.hipGetErrorName(r);
    text = hip.hipGetErrorString(r);
    return error_set(err, code, "HIP's %s() returned %d, %s: %s%s", function, r,
                     name ? name : "an unknown error", text ? text : "no text",
                     vendor_hint(r));
}

/* Call a function of the library. */
#define CALL(name, arguments, err) hip_outcome(hip.name arguments, #name, err)

/* ---- The library ---- */

static int hip_symbols_find(void *object, struct error *err)
{
    static const char *const names[] = {
#define NAME(type, name, arguments) #name,
        HIP_FUNCTIONS(NAME)};
    void *const places[] = {
#define PLACE(type, name, arguments) &hip.name,
        HIP_FUNCTIONS(PLACE)};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *symbol = dlsym(object, names[i]);

        if (!symbol)
            return error_set(err, RAYTRAIN_ENOTSUP,
                             "the library libamdhip64.so has no %s(): update it to one "
                             "of ROCm 5.0 or later",
                             names[i]);
        memcpy(places[i], &symbol, sizeof symbol);
    }
    return 0;
}

static void graph_symbols_find(void *object)
{
#define FIND(type, name, arguments)                                                    \
    symbol = dlsym(object, #name);                                                     \
    memcpy(&hip.name, &symbol, sizeof symbol);
    void *symbol;

    HIP_GRAPH_FUNCTIONS(FIND)
}

static int hip_version_check(struct error *err)
{
    int version;

    if (CALL(hipRuntimeGetVersion, (&version), err) < 0)
        return -1;
    device_memory =
        version < VERSION_SIX ? HIP_DEVICE_MEMORY_OF_5 : HIP_DEVICE_MEMORY_OF_6;
    if (version >= OLDEST)
        return 0;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "the library libamdhip64.so is of ROCm %d.%d: update it to one of "
                     "ROCm 5.0 or later",
                     version / MAJOR_WEIGHT, version % MAJOR_WEIGHT / MINOR_WEIGHT);
}

static int hip_library_init(struct error *err)
{
    result r;

    if (hip_version_check(err) < 0)
        return -1;
    r = hip.hipGetDeviceCount(&n_devices);
    if (r == HIP_ERROR_NO_DEVICE || (r == HIP_SUCCESS && n_devices == 0))
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "there is no HIP GPU that this process may use: ask for one "
                         "with --gpu, and look at ROCR_VISIBLE_DEVICES and "
                         "HIP_VISIBLE_DEVICES");
    return hip_outcome(r, "hipGetDeviceCount", err);
}

/* The library that is open already, or the first that can be opened. */
static void *object_open(void)
{
    void *object = NULL;

    for (size_t i = 0; !object && i < N_NAMES; i++)
        object = dlopen(file_names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    for (size_t i = 0; !object && i < N_NAMES; i++)
        object = dlopen(file_names[i], RTLD_NOW | RTLD_LOCAL);
    return object;
}

static int hip_library_load(struct error *err)
{
    void *object = object_open();

    if (!object)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "tensors on HIP GPUs need libamdhip64.so.7, .6 or .5: %s; "
                         "install AMD's ROCm, or run on a node with a GPU",
                         dlerror());
    if (hip_symbols_find(object, err) < 0)
        return -1;
    graph_symbols_find(object);
    return hip_library_init(err);
}

static int hip_open(struct error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded;
    int rc = 0;

    pthread_mutex_lock(&lock);
    if (!loaded)
        rc = hip_library_load(err);
    loaded = rc == 0;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- GPUs and memory ---- */

static _Thread_local int before[HIP_DEPTH_MAX], modes[HIP_DEPTH_MAX], depth;

/* A context is the number of the GPU, from 1 on. */
static int hip_device_open(int id, void **context, struct error *err)
{
    if (id < 0 || id >= n_devices)
        return error_set(err, RAYTRAIN_EINVAL,
                         "there is no HIP GPU %d: this process may use %d, which are "
                         "counted from 0 on (HIP_VISIBLE_DEVICES)",
                         id, n_devices);
    *context = (void *)((uintptr_t)id + 1);
    return 0;
}

static void hip_device_close(int id)
{
    (void)id;
}

static int hip_device_place(int id, char place[VENDOR_PLACE_MAX], struct error *err)
{
    return CALL(hipDeviceGetPCIBusId, (place, VENDOR_PLACE_MAX, id), err);
}

static int hip_enter(void *context, struct error *err)
{
    if (depth == HIP_DEPTH_MAX)
        return error_set(err, RAYTRAIN_EFAILED, "GPUs are entered within each other");
    if (CALL(hipGetDevice, (&before[depth]), err) < 0 ||
        CALL(hipSetDevice, ((int)((uintptr_t)context - 1)), err) < 0)
        return -1;
    modes[depth] = HIP_CAPTURE_RELAXED;
    if (hip.hipThreadExchangeStreamCaptureMode)
        hip.hipThreadExchangeStreamCaptureMode(&modes[depth]);
    depth++;
    return 0;
}

static void hip_leave(void)
{
    depth--;
    if (hip.hipThreadExchangeStreamCaptureMode)
        hip.hipThreadExchangeStreamCaptureMode(&modes[depth]);
    hip.hipSetDevice(before[depth]);
}

/* HIP returns an error for memory that it does not know; do not leave that for the
 * user's hipGetLastError(). */
static int hip_locate(const void *p, int *id, void **context, struct error *err)
{
    struct attributes a = {0};
    result r = hip.hipPointerGetAttributes(&a, p);

    *id = VENDOR_NO_DEVICE;
    *context = NULL;
    if (r == HIP_ERROR_INVALID_VALUE) {
        hip.hipGetLastError();
        return 0;
    }
    if (hip_outcome(r, "hipPointerGetAttributes", err) < 0)
        return -1;
    if (a.type == device_memory && !a.is_managed)
        *id = a.device;
    return 0;
}

static int hip_allocation(const void *p, const void **start, size_t *n,
                          struct error *err)
{
    void *first = NULL;

    (void)err;
    *n = 0;
    if (hip.hipMemGetAddressRange(&first, n, (void *)p) != 0) {
        hip.hipGetLastError();
        *n = 0;
    }
    *start = first;
    return 0;
}

static int hip_memory_alloc(size_t n, void **p, struct error *err)
{
    return CALL(hipMalloc, (p, n), err);
}

static void hip_memory_free(void *p)
{
    hip.hipFree(p);
}

static int hip_pinned_alloc(size_t n, void **p, struct error *err)
{
    return CALL(hipHostMalloc, (p, n, HIP_HOST_PORTABLE), err);
}

static void hip_pinned_free(void *p)
{
    hip.hipHostFree(p);
}

static int hip_pin(void *p, size_t n, struct error *err)
{
    return CALL(hipHostRegister, (p, n, HIP_HOST_PORTABLE), err);
}

static void hip_unpin(void *p)
{
    hip.hipHostUnregister(p);
}

/* ---- Streams, copies, events ---- */

static int hip_stream_create(void **stream, struct error *err)
{
    return CALL(hipStreamCreateWithFlags, (stream, HIP_STREAM_NON_BLOCKING), err);
}

static void hip_stream_destroy(void *stream)
{
    hip.hipStreamDestroy(stream);
}

static int hip_is_capturing(void *stream, bool *capturing, struct error *err)
{
    int status = HIP_CAPTURE_NONE;
    result r = HIP_SUCCESS;

    if (hip.hipStreamIsCapturing)
        r = hip.hipStreamIsCapturing(stream, &status);
    *capturing = r == HIP_ERROR_CAPTURE_IMPLICIT || status != HIP_CAPTURE_NONE;
    if (r != HIP_ERROR_CAPTURE_IMPLICIT)
        return hip_outcome(r, "hipStreamIsCapturing", err);
    hip.hipGetLastError();
    return 0;
}

static int hip_copy_out(void *host, const void *device, size_t n, void *stream,
                        struct error *err)
{
    return CALL(hipMemcpyAsync, (host, device, n, HIP_COPY_DEVICE_TO_HOST, stream),
                err);
}

static int hip_copy_in(void *device, const void *host, size_t n, void *stream,
                       struct error *err)
{
    return CALL(hipMemcpyAsync, (device, host, n, HIP_COPY_HOST_TO_DEVICE, stream),
                err);
}

static int hip_clear(void *device, size_t n, void *stream, struct error *err)
{
    return CALL(hipMemsetAsync, (device, 0, n, stream), err);
}

static int hip_event_create(void **event, struct error *err)
{
    return CALL(hipEventCreateWithFlags,
                (event, HIP_EVENT_BLOCKING_SYNC | HIP_EVENT_DISABLE_TIMING), err);
}

static void hip_event_destroy(void *event)
{
    hip.hipEventDestroy(event);
}

static int hip_event_record(void *event, void *stream, struct error *err)
{
    return CALL(hipEventRecord, (event, stream), err);
}

static int hip_stream_wait(void *stream, void *event, struct error *err)
{
    return CALL(hipStreamWaitEvent, (stream, event, 0), err);
}

static int hip_event_wait(void *event, struct error *err)
{
    return CALL(hipEventSynchronize, (event), err);
}

/* "Not ready" is not an error; do not leave it for the user's hipGetLastError(). */
static int hip_event_done(void *event, bool *done, struct error *err)
{
    result r = hip.hipEventQuery(event);

    *done = r == HIP_SUCCESS;
    if (r != HIP_ERROR_NOT_READY)
        return hip_outcome(r, "hipEventQuery", err);
    hip.hipGetLastError();
    return 0;
}

const struct device_vendor hip_vendor = {
    .kind = RAYTRAIN_HIP,
    .name = "HIP",
    .collectives = "librccl.so.1",
    .open = hip_open,
    .device_open = hip_device_open,
    .device_close = hip_device_close,
    .device_place = hip_device_place,
    .enter = hip_enter,
    .leave = hip_leave,
    .locate = hip_locate,
    .allocation = hip_allocation,
    .memory_alloc = hip_memory_alloc,
    .memory_free = hip_memory_free,
    .pinned_alloc = hip_pinned_alloc,
    .pinned_free = hip_pinned_free,
    .pin = hip_pin,
    .unpin = hip_unpin,
    .stream_create = hip_stream_create,
    .stream_destroy = hip_stream_destroy,
    .is_capturing = hip_is_capturing,
    .copy_out = hip_copy_out,
    .copy_in = hip_copy_in,
    .clear = hip_clear,
    .event_create = hip_event_create,
    .event_destroy = hip_event_destroy,
    .event_record = hip_event_record,
    .stream_wait = hip_stream_wait,
    .event_wait = hip_event_wait,
    .event_done = hip_event_done,
};
