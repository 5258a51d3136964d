/*
 * vendor.h - the interface to the GPUs of one vendor: the owner of memory, copies
 * between it and the host, streams and events.
 *
 * An implementation opens the vendor's library at run time, when the first call needs
 * it: programs are not linked with it, and a process without memory on a device does
 * not open it. All functions return 0, or -1 with an error: RAYTRAIN_ENOTSUP if the
 * library is missing or too old, RAYTRAIN_EINVAL for a GPU that does not exist,
 * RAYTRAIN_ENOMEM, and RAYTRAIN_EFAILED for everything else. Handles are the vendor's.
 * Any thread may call all but open() and device_close(), also several at a time.
 *
 * To add a vendor: write a file that defines a `struct device_vendor`, and add that to
 * the table in devices.c. Write the types of its library yourself: a build needs no
 * header of it. Add the value to raytrain_device in raytrain.h and in
 * share/fortran/raytrain_c.f90, and accept it in util/tensor.c. If its library for
 * collectives has the functions of NCCL, name that (nccl.h). Tests need a stand-in, if
 * possible t/device/standin_cuda.c with other names, as t/device/standin_hip.c is, with
 * which t/1600-device.t runs.
 */
#ifndef RAYTRAIN_DEVICE_VENDOR_H
#define RAYTRAIN_DEVICE_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define VENDOR_NO_DEVICE (-1)
#define VENDOR_PLACE_MAX 32

struct device_vendor {
    int kind;         /* a raytrain_device */
    const char *name; /* "CUDA" */
    /* The library for collectives, which has the functions of NCCL (nccl.h):
     * "libnccl.so.2". NULL: none. */
    const char *collectives;

    /* Open the library and initialise it, unless it is; safe in any thread. After a
     * failure the next call tries again. */
    int (*open)(struct error *err);

    /* *context becomes the one that the user's own calls use on GPU `id`, and is valid
     * until device_close(). */
    int (*device_open)(int id, void **context, struct error *err);
    void (*device_close)(int id);
    /* Identifies the GPU on its node, the same in all processes, such as
     * "0000:01:00.0"; also a part of a GPU (MIG). */
    int (*device_place)(int id, char place[VENDOR_PLACE_MAX], struct error *err);

    /* Make a context current for this thread, and make the one before it current again.
     * All functions below need a current one. In between, calls of this thread do not
     * disturb the capture of a graph, by any thread. */
    int (*enter)(void *context, struct error *err);
    void (*leave)(void);

    /* *id becomes the number of the GPU that has the byte at p; VENDOR_NO_DEVICE if
     * none has, as for host memory and for memory that was freed. *context: the
     * allocation's, NULL if it has none. */
    int (*locate)(const void *p, int *id, void **context, struct error *err);
    /* The *n bytes from *start on become the allocation that has the byte at p, which
     * is GPU memory. *n is 0 if the library does not know. */
    int (*allocation)(const void *p, const void **start, size_t *n, struct error *err);

    /* *number becomes a number that no other allocation of this process has or had; 0:
     * there is no memory at p. Needs no current context. NULL: there are no such
     * numbers. */
    int (*allocation_number)(const void *p, uint64_t *number, struct error *err);

    /* n > 0 bytes of memory of the current GPU, with any contents. memory_free() may
     * wait for all that is queued. */
    int (*memory_alloc)(size_t n, void **p, struct error *err);
    void (*memory_free)(void *p);

    /* Pinned host memory, from and to which a GPU copies while the host works. pin()
     * pins existing memory, until unpin(). */
    int (*pinned_alloc)(size_t n, void **p, struct error *err);
    void (*pinned_free)(void *p);
    int (*pin)(void *p, size_t n, struct error *err);
    void (*unpin)(void *p);

    /* A stream is a queue of work. It does not wait for other streams, in particular
     * not for the default stream, which is NULL here. */
    int (*stream_create)(void **stream, struct error *err);
    void (*stream_destroy)(void *stream);
    /* Is work that is queued there captured into a graph instead of done? */
    int (*is_capturing)(void *stream, bool *capturing, struct error *err);
    /* *context becomes the one in which the stream was made. NULL: not known. */
    int (*stream_context)(void *stream, void **context, struct error *err);

    /* Queue a copy: out, to pinned memory, or in, from there. */
    int (*copy_out)(void *host, const void *device, size_t n, void *stream,
                    struct error *err);
    int (*copy_in)(void *device, const void *host, size_t n, void *stream,
                   struct error *err);
    /* Queue a write of zeros to n bytes of GPU memory. */
    int (*clear)(void *device, size_t n, void *stream, struct error *err);

    /* An event is a place in a stream: it has happened once all that was queued there
     * before event_record() is done. stream_wait() lets what is queued from now on wait
     * for it, event_wait() this thread. */
    int (*event_create)(void **event, struct error *err);
    void (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream, struct error *err);
    int (*stream_wait)(void *stream, void *event, struct error *err);
    int (*event_wait)(void *event, struct error *err);
    /* Has it happened? Does not wait. */
    int (*event_done)(void *event, bool *done, struct error *err);
};

/* The likely cause of an error of CUDA or HIP, whose numbers are the same, and what to
 * do: ": ..." or "". */
const char *vendor_hint(int code);

extern const struct device_vendor cuda_vendor;
extern const struct device_vendor hip_vendor;

#endif
