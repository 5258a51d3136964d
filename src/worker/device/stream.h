/*
 * stream.h - a stream of raytrain on a GPU: copies that run while the host and the
 * caller's stream work, their order, and memory for them.
 *
 * Nothing here waits on the host, except for device_memory_alloc(). The caller's stream
 * is that of device_set_stream() at the time of the call. What is queued must stay
 * allocated until it is done, which a mark tells. Failures are those of device.h. The
 * caller's current GPU is current again when a call returns.
 *
 * Only the thread of the training function calls these.
 */
#ifndef RAYTRAIN_DEVICE_STREAM_H
#define RAYTRAIN_DEVICE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct device_stream;

/* Create it on the GPU of a raytrain_tensor with this device and device_id. destroy
 * does not wait for what is queued, and accepts NULL. */
int device_stream_create(int kind, int id, struct device_stream **out,
                         struct error *err);
void device_stream_destroy(struct device_stream *s);

/* ---- Order: what is queued from now on ... ---- */

/* ... in s comes after what the caller has queued. */
int device_stream_after_caller(struct device_stream *s, struct error *err);
/* ... by the caller comes after what has been queued in s. */
int device_stream_before_caller(struct device_stream *s, struct error *err);
/* ... in s comes after what has been queued in `other`, on the same GPU. */
int device_stream_after(struct device_stream *s, struct device_stream *other,
                        struct error *err);

/* ---- Copies of n > 0 bytes between the GPU and pinned memory ---- */

int device_stream_copy_out(struct device_stream *s, void *host, const void *device,
                           size_t n, struct error *err);
int device_stream_copy_in(struct device_stream *s, void *device, const void *host,
                          size_t n, struct error *err);

/* A place in a stream: it is reached when all that was queued before it is done. */
struct device_mark {
    void *event; /* NULL: not set */
};
int device_mark_init(struct device_stream *s, struct device_mark *mark,
                     struct error *err);
void device_mark_clear(struct device_stream *s, struct device_mark *mark);
/* Set the mark after all that is queued so far. */
int device_mark_set(struct device_stream *s, struct device_mark *mark,
                    struct error *err);
/* *reached: the mark, which was set, is reached. Does not wait. */
int device_mark_test(struct device_stream *s, struct device_mark *mark, bool *reached,
                     struct error *err);

/* ---- Memory, on or for the GPU of a stream ---- */

/* n > 0 bytes of GPU memory, set to zero. free waits for what is queued on the GPU. */
int device_memory_alloc(struct device_stream *s, size_t n, void **p, struct error *err);
void device_memory_free(struct device_stream *s, void *p);
/* n > 0 bytes of pinned memory, with any contents. */
int device_pinned_alloc(struct device_stream *s, size_t n, void **p, struct error *err);
void device_pinned_free(struct device_stream *s, void *p);
/* Pin n > 0 bytes of host memory, until device_unpin(). Some systems cannot. */
int device_pin(struct device_stream *s, void *p, size_t n, struct error *err);
void device_unpin(struct device_stream *s, void *p);

#endif
