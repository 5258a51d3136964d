/*
 * standin_hip.c - a stand-in for libamdhip64.so: the functions of HIP that raytrain uses, by
 * other names for those of standin_cuda.c, whose rules, variables and own functions it has.
 * There is no HIP in it.
 *
 * A thread has a current GPU, at first 0. As HIP does, a call that fails leaves an error for
 * hipGetLastError(); standin_last_error() says what is there.
 *
 *   STANDIN_HIP_VERSION=N   what hipRuntimeGetVersion() returns, 60200000 by default. Before
 *                           60000000, types of memory have the numbers of ROCm 5.
 */
#include "standin_cuda.c" /* NOLINT(bugprone-suspicious-include) */

struct attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned int flags;
};

static __thread int last_error;

API int standin_last_error(void);
API int standin_last_error(void)
{
    return last_error;
}

static int answer(int rc)
{
    if (rc != SUCCESS)
        last_error = rc;
    return rc;
}

/* As the functions of CUDA, with GPU 0 unless another one is current. */
#define BEGIN                                                                          \
    if (fails(__func__))                                                               \
        return answer(ILLEGAL_ADDRESS);                                                \
    if (!current())                                                                    \
        cuCtxSetCurrent(&primaries[0]);

static int version(void)
{
    return number("STANDIN_HIP_VERSION", 60200000);
}

API int hipRuntimeGetVersion(int *n)
{
    BEGIN
    *n = version();
    return SUCCESS;
}

API int hipGetDeviceCount(int *n)
{
    BEGIN
    is_ready = true;
    *n = devices();
    return answer(*n > 0 ? SUCCESS : NO_DEVICE);
}

API int hipGetDevice(int *id)
{
    BEGIN
    *id = current()->device;
    return SUCCESS;
}

API int hipSetDevice(int id)
{
    BEGIN
    if (id < 0 || id >= devices())
        return answer(INVALID_DEVICE);
    return answer(cuCtxSetCurrent(&primaries[id]));
}

API int hipDeviceGetPCIBusId(char *place, int room, int id)
{
    BEGIN
    return answer(cuDeviceGetPCIBusId(place, room, id));
}

API int hipGetLastError(void)
{
    int error = last_error;

    last_error = SUCCESS;
    return error;
}

API const char *hipGetErrorName(int error)
{
    return error == ILLEGAL_ADDRESS ? "hipErrorIllegalAddress" : "hipErrorOther";
}

API const char *hipGetErrorString(int error)
{
    return error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                    : "other";
}

API int hipPointerGetAttributes(struct attributes *a, const void *p)
{
    struct memory *m;
    int host = version() < 60000000 ? 0 : 1;

    BEGIN
    pthread_mutex_lock(&lock);
    m = memory_find((uintptr_t)p, 1);
    pthread_mutex_unlock(&lock);
    if (!m)
        return answer(INVALID_VALUE);
    *a = (struct attributes){.type = m->device < 0 ? host : host + 1,
                             .device = m->device < 0 ? 0 : m->device,
                             .device_pointer = (void *)(uintptr_t)p};
    return SUCCESS;
}

API int hipMemGetAddressRange(void **start, size_t *n, void *p)
{
    struct memory *m;

    BEGIN
    pthread_mutex_lock(&lock);
    m = memory_find((uintptr_t)p, 1);
    if (m) {
        *start = (void *)m->address;
        *n = m->n;
    }
    pthread_mutex_unlock(&lock);
    return answer(m ? SUCCESS : INVALID_VALUE);
}

API int hipMalloc(void **p, size_t n)
{
    uint64_t at = 0;
    int rc;

    BEGIN
    rc = cuMemAlloc_v2(&at, n);
    *p = (void *)(uintptr_t)at;
    return answer(rc);
}

API int hipFree(void *p)
{
    BEGIN
    return answer(cuMemFree_v2((uintptr_t)p));
}

API int hipHostMalloc(void **p, size_t n, unsigned int flags)
{
    BEGIN
    return answer(cuMemHostAlloc(p, n, flags));
}

API int hipHostFree(void *p)
{
    BEGIN
    return answer(cuMemFreeHost(p));
}

API int hipHostRegister(void *p, size_t n, unsigned int flags)
{
    BEGIN
    return answer(cuMemHostRegister_v2(p, n, flags));
}

API int hipHostUnregister(void *p)
{
    BEGIN
    return answer(cuMemHostUnregister(p));
}

API int hipMemsetAsync(void *to, int value, size_t n, void *stream)
{
    BEGIN
    return answer(cuMemsetD8Async((uintptr_t)to, (unsigned char)value, n, stream));
}

API int hipMemcpyAsync(void *to, const void *from, size_t n, int kind, void *stream)
{
    BEGIN
    if (kind == 1)
        return answer(cuMemcpyHtoDAsync_v2((uintptr_t)to, from, n, stream));
    if (kind == 2)
        return answer(cuMemcpyDtoHAsync_v2(to, (uintptr_t)from, n, stream));
    return answer(INVALID_VALUE);
}

API int hipStreamCreateWithFlags(void **stream, unsigned int flags)
{
    BEGIN
    return answer(cuStreamCreate(stream, flags));
}

API int hipStreamDestroy(void *stream)
{
    BEGIN
    return answer(cuStreamDestroy_v2(stream));
}

API int hipStreamWaitEvent(void *stream, void *event, unsigned int flags)
{
    BEGIN
    return answer(cuStreamWaitEvent(stream, event, flags));
}

API int hipStreamIsCapturing(void *stream, int *status)
{
    BEGIN
    return answer(cuStreamIsCapturing(stream, status));
}

API int hipThreadExchangeStreamCaptureMode(int *mode)
{
    return cuThreadExchangeStreamCaptureMode(mode);
}

API int hipEventCreateWithFlags(void **event, unsigned int flags)
{
    BEGIN
    return answer(cuEventCreate(event, flags));
}

API int hipEventDestroy(void *event)
{
    BEGIN
    return answer(cuEventDestroy_v2(event));
}

API int hipEventRecord(void *event, void *stream)
{
    BEGIN
    return answer(cuEventRecord(event, stream));
}

API int hipEventSynchronize(void *event)
{
    BEGIN
    return answer(cuEventSynchronize(event));
}

API int hipEventQuery(void *event)
{
    BEGIN
    return answer(cuEventQuery(event));
}
