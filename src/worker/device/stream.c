/*
 * stream.c - a stream, its order, copies, marks and memory, by calls of the vendor
 * (vendor.h).
 */
#include "config.h"

#include "device/stream.h"

#include <stdlib.h>

#include "device/devices.h"

struct device_stream {
    struct device *device;
    void *stream;
    void *order; /* an event that orders two streams, and can be reused at once */
};

/* Enter the GPU's context; every call ends with device_leave(). */
static const struct device_vendor *enter(const struct device_stream *s,
                                         struct error *err)
{
    return device_resume(s->device, err) < 0 ? NULL : s->device->vendor;
}

/* Make a call of the vendor in the context of the GPU. */
#define IN_CONTEXT(s, call, err)                                                       \
    const struct device_vendor *v = enter(s, err);                                     \
    int rc = v ? (call) : -1;                                                          \
                                                                                       \
    if (v)                                                                             \
        device_leave((s)->device);                                                     \
    return rc

#define IN_CONTEXT_VOID(s, call)                                                       \
    const struct device_vendor *v = enter(s, NULL);                                    \
                                                                                       \
    if (!v)                                                                            \
        return;                                                                        \
    (call);                                                                            \
    device_leave((s)->device)

/* ---- A stream ---- */

int device_stream_create(int kind, int id, struct device_stream **out,
                         struct error *err)
{
    struct device_stream *s = calloc(1, sizeof *s);
    const struct device_vendor *v;
    int rc = -1;

    *out = NULL;
    if (!s)
        return error_no_memory(err);
    s->device = device_enter(kind, id, err);
    if (s->device) {
        v = s->device->vendor;
        if (v->stream_create(&s->stream, err) == 0)
            rc = v->event_create(&s->order, err);
        device_leave(s->device);
    }
    if (rc < 0) {
        device_stream_destroy(s);
        return -1;
    }
    *out = s;
    return 0;
}

void device_stream_destroy(struct device_stream *s)
{
    const struct device_vendor *v = s && s->device ? enter(s, NULL) : NULL;

    if (v && s->order)
        v->event_destroy(s->order);
    if (v && s->stream)
        v->stream_destroy(s->stream);
    if (v)
        device_leave(s->device);
    free(s);
}

/* ---- Order ---- */

int device_stream_after_caller(struct device_stream *s, struct error *err)
{
    IN_CONTEXT(s,
               device_after_caller(s->device, s->order, err) < 0
                   ? -1
                   : v->stream_wait(s->stream, s->order, err),
               err);
}

int device_stream_before_caller(struct device_stream *s, struct error *err)
{
    IN_CONTEXT(s,
               v->event_record(s->order, s->stream, err) < 0
                   ? -1
                   : device_before_caller(s->device, s->order, err),
               err);
}

int device_stream_after(struct device_stream *s, struct device_stream *other,
                        struct error *err)
{
    IN_CONTEXT(s,
               v->event_record(s->order, other->stream, err) < 0
                   ? -1
                   : v->stream_wait(s->stream, s->order, err),
               err);
}

/* ---- Copies ---- */

int device_stream_copy_out(struct device_stream *s, void *host, const void *device,
                           size_t n, struct error *err)
{
    IN_CONTEXT(s, v->copy_out(host, device, n, s->stream, err), err);
}

int device_stream_copy_in(struct device_stream *s, void *device, const void *host,
                          size_t n, struct error *err)
{
    IN_CONTEXT(s, v->copy_in(device, host, n, s->stream, err), err);
}

int device_mark_init(struct device_stream *s, struct device_mark *mark,
                     struct error *err)
{
    IN_CONTEXT(s, v->event_create(&mark->event, err), err);
}

void device_mark_clear(struct device_stream *s, struct device_mark *mark)
{
    if (!mark->event)
        return;
    IN_CONTEXT_VOID(s, v->event_destroy(mark->event));
    mark->event = NULL;
}

int device_mark_set(struct device_stream *s, struct device_mark *mark,
                    struct error *err)
{
    IN_CONTEXT(s, v->event_record(mark->event, s->stream, err), err);
}

int device_mark_test(struct device_stream *s, struct device_mark *mark, bool *reached,
                     struct error *err)
{
    *reached = false;
    IN_CONTEXT(s, v->event_done(mark->event, reached, err), err);
}

/* ---- Memory ---- */

static int zeros_alloc(const struct device_stream *s, size_t n, void **p,
                       struct error *err)
{
    const struct device_vendor *v = s->device->vendor;

    if (v->memory_alloc(n, p, err) < 0)
        return -1;
    if (v->clear(*p, n, s->stream, err) == 0 &&
        v->event_record(s->order, s->stream, err) == 0 &&
        v->event_wait(s->order, err) == 0)
        return 0;
    v->memory_free(*p);
    *p = NULL;
    return -1;
}

int device_memory_alloc(struct device_stream *s, size_t n, void **p, struct error *err)
{
    *p = NULL;
    IN_CONTEXT(s, zeros_alloc(s, n, p, err), err);
}

void device_memory_free(struct device_stream *s, void *p)
{
    IN_CONTEXT_VOID(s, v->memory_free(p));
}

int device_pinned_alloc(struct device_stream *s, size_t n, void **p, struct error *err)
{
    *p = NULL;
    IN_CONTEXT(s, v->pinned_alloc(n, p, err), err);
}

void device_pinned_free(struct device_stream *s, void *p)
{
    IN_CONTEXT_VOID(s, v->pinned_free(p));
}

int device_pin(struct device_stream *s, void *p, size_t n, struct error *err)
{
    IN_CONTEXT(s, v->pin(p, n, err), err);
}

void device_unpin(struct device_stream *s, void *p)
{
    IN_CONTEXT_VOID(s, v->unpin(p));
}
