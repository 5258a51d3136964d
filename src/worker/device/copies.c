/*
 * copies.c - the pinned memory of a save, the stream of each GPU, and the steps of a
 * save.
 */
#include "config.h"

#include "device/copies.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "device/devices.h"
#include "device/device.h"
#include "device/group.h"

/* A GPU from which tensors are copied. Its copies have a stream of their own, so that
 * other work need not wait for them. */
struct source {
    struct source *next;
    struct device *device;
    void *stream;
    void *settled;    /* the event after the copies of memory that does not stay */
    void *all;        /* the event after all copies */
    bool begun;       /* in this save: the stream is ordered after the caller's work */
    bool has_settled; /* in this save: the event settled is recorded */
    bool has_staying; /* in this save: copies may continue after settle */
    bool going;       /* copies may be in progress */
};

/* How much is pinned at once. */
#define PIN_BYTES ((size_t)256 << 20)

/* The memory is pinned from its beginning on, piece by piece. A copy stays in one
 * piece. */
struct device_copies {
    struct source *sources;
    unsigned char *memory;
    size_t n;
    struct device *_Atomic expected; /* device_copies_expect(); NULL: none */
    struct device *pinned_by;        /* NULL: nothing is pinned */
    size_t *ends;                  /* of the pieces */
    size_t n_pieces, room_pieces;
    bool refused; /* the rest cannot be pinned */
    bool noted;   /* the caller knows that */
    struct error why;
};

int device_copies_create(struct device_copies **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : error_no_memory(err);
}

/* ---- The memory ---- */

static size_t piece_begin(const struct device_copies *c, size_t i)
{
    return i > 0 ? c->ends[i - 1] : 0;
}

static size_t n_pinned(const struct device_copies *c)
{
    return piece_begin(c, c->n_pieces);
}

void device_copies_forget(struct device_copies *c)
{
    struct device *device = c->pinned_by;

    if (device && !devices_abandoned() && device_resume(device, NULL) == 0) {
        for (size_t i = 0; i < c->n_pieces; i++)
            device->vendor->unpin(c->memory + piece_begin(c, i));
        device_leave(device);
    }
    c->memory = NULL;
    c->n = c->n_pieces = 0;
    c->pinned_by = NULL;
    c->refused = c->noted = false;
}

/* Was the memory pinned in a context that was destroyed? */
static bool is_unpinned(const struct device_copies *c)
{
    return c->pinned_by && device_is_lost(c->pinned_by);
}

static void memory_set(struct device_copies *c, void *memory, size_t n)
{
    if (c->memory != memory || is_unpinned(c))
        device_copies_forget(c);
    c->memory = memory;
    c->n = n > c->n ? n : c->n;
}

void device_copies_begin(struct device_copies *c, void *memory, size_t n)
{
    for (struct source *s = c->sources; s; s = s->next)
        s->begun = s->has_settled = s->has_staying = s->going = false;
    memory_set(c, memory, n);
}

static int pieces_grow(struct device_copies *c, struct error *err)
{
    size_t room = c->room_pieces > 0 ? 2 * c->room_pieces : 8;
    size_t *ends;

    if (c->n_pieces < c->room_pieces)
        return 0;
    ends = reallocarray(c->ends, room, sizeof *ends);
    if (!ends)
        return error_no_memory(err);
    c->ends = ends;
    c->room_pieces = room;
    return 0;
}

/* Pin all of the memory for this GPU, whose context is current. */
static void memory_pin(struct device_copies *c, struct device *device)
{
    const struct device_vendor *v = device->vendor;

    if (c->pinned_by && c->pinned_by->vendor != v)
        return;
    for (size_t at; !c->refused && (at = n_pinned(c)) < c->n;) {
        size_t n = c->n - at < PIN_BYTES ? c->n - at : PIN_BYTES;

        if (pieces_grow(c, &c->why) < 0 || v->pin(c->memory + at, n, &c->why) < 0) {
            c->refused = true;
            return;
        }
        c->pinned_by = device;
        c->ends[c->n_pieces++] = at + n;
    }
}

int device_copies_expect(struct device_copies *c, int kind, int id, struct error *err)
{
    struct device *device = device_enter(kind, id, err);

    if (!device)
        return -1;
    atomic_store(&c->expected, device);
    device_leave(device);
    return 0;
}

void device_copies_pin(struct device_copies *c, void *memory, size_t n)
{
    struct device *device = atomic_load(&c->expected);

    memory_set(c, memory, n);
    if (!device || devices_abandoned() || device_resume(device, NULL) < 0)
        return;
    memory_pin(c, device);
    device_leave(device);
}

/* The number of the n bytes at `to` that are in one piece, pinned for the GPU, whose
 * context is current. */
static size_t pinned_room(const struct device_copies *c, const struct device *device,
                          const unsigned char *to, size_t n)
{
    size_t at = (size_t)(to - c->memory), first = 0, end = c->n_pieces;

    if (!c->pinned_by || c->pinned_by->vendor != device->vendor)
        return 0;
    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (c->ends[middle] <= at)
            first = middle + 1;
        else
            end = middle;
    }
    if (first == c->n_pieces)
        return 0;
    return n < c->ends[first] - at ? n : c->ends[first] - at;
}

bool device_copies_refused(struct device_copies *c, struct error *why)
{
    bool is_new = c->refused && !c->noted;

    c->noted = c->refused;
    if (is_new)
        *why = c->why;
    return is_new;
}

/* ---- GPUs ---- */

static int source_prepare(struct source *s, struct error *err)
{
    const struct device_vendor *v = s->device->vendor;

    if (!s->stream && v->stream_create(&s->stream, err) < 0)
        return -1;
    if (!s->settled && v->event_create(&s->settled, err) < 0)
        return -1;
    return s->all ? 0 : v->event_create(&s->all, err);
}

/* Its context is current. NULL on failure. */
static struct source *source_of(struct device_copies *c, struct device *device,
                                struct error *err)
{
    struct source *s = c->sources;

    while (s && s->device != device)
        s = s->next;
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s) {
            error_no_memory(err);
            return NULL;
        }
        s->device = device;
        s->next = c->sources;
        c->sources = s;
    }
    return source_prepare(s, err) == 0 ? s : NULL;
}

/* Order the stream after what the caller has queued. */
static int source_begin(struct source *s, struct error *err)
{
    const struct device_vendor *v = s->device->vendor;

    if (s->begun)
        return 0;
    if (device_after_caller(s->device, s->all, err) < 0 ||
        v->stream_wait(s->stream, s->all, err) < 0)
        return -1;
    s->begun = true;
    return 0;
}

static void source_destroy(struct source *s)
{
    const struct device_vendor *v = s->device->vendor;

    if (!devices_abandoned() && device_resume(s->device, NULL) == 0) {
        if (s->settled)
            v->event_destroy(s->settled);
        if (s->all)
            v->event_destroy(s->all);
        if (s->stream)
            v->stream_destroy(s->stream);
        v->leave();
    }
    free(s);
}

/* ---- The steps ---- */

/* Record the events after what is in the stream now. */
static int events_record(struct source *s, bool stays, struct error *err)
{
    const struct device_vendor *v = s->device->vendor;

    s->going = true;
    if (v->event_record(s->all, s->stream, err) < 0)
        return -1;
    s->has_staying = s->has_staying || stays;
    if (stays)
        return 0;
    s->has_settled = true;
    return v->event_record(s->settled, s->stream, err);
}

static int copy_queue(struct source *s, const void *from, void *to, size_t n,
                      bool stays, struct error *err)
{
    const struct device_vendor *v = s->device->vendor;

    if (source_begin(s, err) < 0 || v->copy_out(to, from, n, s->stream, err) < 0)
        return -1;
    if (events_record(s, stays, err) == 0)
        return 0;
    s->has_staying = true; /* the copy is in progress, and must be waited for */
    events_record(s, false, NULL);
    return -1;
}

static int copy_start(struct device_copies *c, struct device *device, const void *from,
                      void *to, size_t n, bool stays, struct error *err)
{
    const unsigned char *at = from;
    unsigned char *room = to;

    if (device_check_memory(device, from, n, err) < 0)
        return -1;
    memory_pin(c, device);
    for (size_t some; n > 0 && (some = pinned_room(c, device, room, n)) > 0;
         at += some, room += some, n -= some) {
        struct source *s = source_of(c, device, err);

        if (!s || copy_queue(s, at, room, some, stays, err) < 0)
            return -1;
    }
    return n > 0 ? device_fetch(device->vendor->kind, device->id, at, room, n, err) : 0;
}

int device_copies_start(struct device_copies *c, int kind, int id, const void *from,
                        void *to, size_t n, bool stays, struct error *err)
{
    struct device *device = device_enter(kind, id, err);
    int rc;

    if (!device)
        return -1;
    rc = copy_start(c, device, from, to, n, stays, err);
    device_leave(device);
    return rc;
}

/* Wait, in the GPU's context. If a collective whose result was copied was aborted, the
 * copy is not valid, which is an error. */
static int event_await(const struct source *s, void *event, struct error *err)
{
    const struct device_vendor *v = s->device->vendor;
    int rc;

    if (devices_abandoned())
        return error_set(err, RAYTRAIN_EFAILED, "the process is about to end");
    if (device_resume(s->device, err) < 0)
        return -1;
    rc = v->event_wait(event, err);
    v->leave();
    return rc < 0 ? rc : device_groups_check(err);
}

int device_copies_settle(struct device_copies *c, struct error *err)
{
    for (struct source *s = c->sources; s; s = s->next) {
        if (s->has_settled && event_await(s, s->settled, err) < 0)
            return -1;
        s->going = s->has_staying;
    }
    return 0;
}

int device_copies_fence(struct device_copies *c, struct error *err)
{
    for (const struct source *s = c->sources; s; s = s->next) {
        int rc;

        if (!s->going)
            continue;
        if (device_resume(s->device, err) < 0)
            return -1;
        rc = device_before_caller(s->device, s->all, err);
        device_leave(s->device);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int device_copies_wait(struct device_copies *c, struct error *err)
{
    int rc = 0;

    for (const struct source *s = c->sources; s; s = s->next)
        if (s->going && event_await(s, s->all, rc == 0 ? err : NULL) < 0)
            rc = -1;
    return rc;
}

void device_copies_destroy(struct device_copies *c)
{
    if (!c)
        return;
    device_copies_forget(c);
    while (c->sources) {
        struct source *s = c->sources;

        c->sources = s->next;
        source_destroy(s);
    }
    free(c->ends);
    free(c);
}
