/*
 * device.c - checks memory of a device, and copies it out and in. What each GPU has for
 * that is in devices.c.
 *
 * A copy, and each lane of a copy to a GPU, has two pieces of pinned memory: while the
 * GPU copies one, the host reads or fills the other.
 */
#include "config.h"

#include "device/device.h"

#include <string.h>

#include "device/devices.h"
#include "device/group.h"

/* ---- Whose memory is it? ---- */

static int byte_check(const struct device *device, const void *p, void **context,
                      struct error *err)
{
    const char *name = device->vendor->name;
    int found;

    if (device->vendor->locate(p, &found, context, err) < 0)
        return -1;
    if (found == VENDOR_NO_DEVICE)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "%p is not memory of a %s GPU: it is host memory, or was freed; "
            "for host memory, device is RAYTRAIN_HOST",
            p, name);
    if (found != device->id)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%p is memory of %s GPU %d, and device_id says %d", p, name,
                         found, device->id);
    if (*context && *context != device->context)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "%p was allocated in a context of its own on %s GPU %d: use the "
            "primary context, as cudaMalloc() does",
            p, name, found);
    return 0;
}

/* Does the allocation that begins before `data` end after its n bytes? */
static int allocation_has(const struct device *device, const void *data, uint64_t n,
                          bool *has, struct error *err)
{
    const void *start = NULL;
    size_t size = 0;

    *has = false;
    if (device->vendor->allocation(data, &start, &size, err) < 0)
        return -1;
    *has = n <= size && (uintptr_t)data - (uintptr_t)start <= size - n;
    return 0;
}

int device_is_one(int kind, int id, const void *data, uint64_t n, bool *is_one,
                  struct error *err)
{
    struct device *device = device_enter(kind, id, err);
    int rc;

    if (!device)
        return -1;
    rc = allocation_has(device, data, n, is_one, err);
    device_leave(device);
    return rc;
}

/* Memory that a context has allocated is one allocation. Other memory may consist of
 * several allocations that were mapped side by side, of which only the ends are
 * checked. */
int device_check_memory(const struct device *device, const void *data, uint64_t n,
                        struct error *err)
{
    bool is_one = true;
    void *context;

    if (byte_check(device, data, &context, err) < 0)
        return -1;
    if (byte_check(device, (const char *)data + (n - 1), &context, err) < 0)
        return error_prefix(err, "its last byte");
    if (context && allocation_has(device, data, n, &is_one, err) < 0)
        return -1;
    if (is_one)
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "the %llu bytes at %p are not in one allocation of %s GPU %d: look "
        "at shape and dtype",
        (unsigned long long)n, data, device->vendor->name, device->id);
}

int device_check(int kind, int id, const void *data, uint64_t n, struct error *err)
{
    struct device *device = device_enter(kind, id, err);
    int rc;

    if (!device)
        return -1;
    rc = device_check_memory(device, data, n, err);
    device_leave(device);
    return rc;
}

/* ---- Copies ---- */

/* Without this check, a stream of another GPU would fail only when it is used. */
static int stream_check(const struct device *device, void *stream, struct error *err)
{
    void *context = device->context;

    if (stream && device->vendor->stream_context &&
        device->vendor->stream_context(stream, &context, err) < 0)
        return -1;
    if (context == device->context)
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "the stream is not one of %s GPU %d, or not of its primary context",
        device->vendor->name, device->id);
}

int device_set_stream(int kind, int id, void *stream, struct error *err)
{
    struct device *device = device_enter(kind, id, err);
    int rc;

    if (!device)
        return -1;
    rc = stream_check(device, stream, err);
    if (rc == 0)
        device->caller = stream;
    device_leave(device);
    return rc;
}

static int caller_wait(struct device *device, struct error *err)
{
    const struct device_vendor *v = device->vendor;

    if (device_prepare(device, 1, err) < 0 ||
        device_after_caller(device, device->ready, err) < 0)
        return -1;
    return v->event_wait(device->ready, err);
}

int device_wait_caller(int kind, int id, struct error *err)
{
    struct device *device = device_enter(kind, id, err);
    int rc;

    if (!device)
        return -1;
    rc = caller_wait(device, err);
    device_leave(device);
    return rc < 0 ? rc : device_groups_check(err);
}

/* Prepare to copy, after what the caller has queued. */
static int copies_begin(struct device *device, const void *data, uint64_t n,
                        int n_lanes, struct error *err)
{
    const struct device_vendor *v = device->vendor;

    if (device_check_memory(device, data, n, err) < 0 ||
        device_prepare(device, n_lanes, err) < 0 ||
        device_after_caller(device, device->ready, err) < 0)
        return -1;
    return v->stream_wait(device->stream, device->ready, err);
}

/* Wait for all copies, so that none is in progress to memory that is used again. */
static int copies_wait(const struct device *device, struct error *err)
{
    const struct device_vendor *v = device->vendor;

    if (v->event_record(device->ready, device->stream, err) < 0)
        return -1;
    return v->event_wait(device->ready, err);
}

static size_t piece_bytes(size_t left)
{
    return left < DEVICE_PIECE_BYTES ? left : DEVICE_PIECE_BYTES;
}

static int copies_out(struct device *device, const unsigned char *from,
                      unsigned char *to, size_t n, struct error *err)
{
    const struct device_vendor *v = device->vendor;
    size_t asked = 0, got = 0;
    struct piece *piece;

    while (got < n) {
        for (; asked < n && asked < got + 2 * DEVICE_PIECE_BYTES;
             asked += piece_bytes(n - asked)) {
            piece = &device->pieces[asked / DEVICE_PIECE_BYTES % 2];
            if (v->copy_out(piece->memory, from + asked, piece_bytes(n - asked),
                            device->stream, err) < 0 ||
                v->event_record(piece->copied, device->stream, err) < 0)
                return -1;
        }
        piece = &device->pieces[got / DEVICE_PIECE_BYTES % 2];
        if (v->event_wait(piece->copied, err) < 0)
            return -1;
        memcpy(to + got, piece->memory, piece_bytes(n - got));
        got += piece_bytes(n - got);
    }
    return 0;
}

int device_fetch(int kind, int id, const void *from, void *to, size_t n,
                 struct error *err)
{
    struct device *device = device_enter(kind, id, err);
    int rc;

    if (!device)
        return -1;
    rc = copies_begin(device, from, n, 1, err);
    if (rc == 0 && copies_out(device, from, to, n, err) < 0) {
        copies_wait(device, NULL); /* err has the first error */
        rc = -1;
    }
    device_leave(device);
    return rc < 0 ? rc : device_groups_check(err);
}

int device_store_begin(int kind, int id, void *to, uint64_t n, int n_lanes,
                       struct device_store *s, struct error *err)
{
    *s = (struct device_store){device_enter(kind, id, err), to};
    if (!s->device)
        return -1;
    if (copies_begin(s->device, to, n, n_lanes, err) == 0)
        return 0;
    device_leave(s->device);
    return -1;
}

int device_lane_enter(const struct device_store *s, int lane, struct device_lane *l,
                      struct error *err)
{
    *l = (struct device_lane){s, &s->device->pieces[2 * lane], 0};
    return device_resume(s->device, err);
}

void *device_lane_room(struct device_lane *l, struct error *err)
{
    struct piece *piece = &l->pieces[l->n_pieces % 2];

    if (l->n_pieces >= 2 &&
        l->store->device->vendor->event_wait(piece->copied, err) < 0)
        return NULL;
    return piece->memory;
}

int device_lane_send(struct device_lane *l, uint64_t at, size_t n, struct error *err)
{
    const struct device *device = l->store->device;
    const struct device_vendor *v = device->vendor;
    struct piece *piece = &l->pieces[l->n_pieces % 2];

    if (v->copy_in(l->store->to + at, piece->memory, n, device->stream, err) < 0 ||
        v->event_record(piece->copied, device->stream, err) < 0)
        return -1;
    l->n_pieces++;
    return 0;
}

void device_lane_leave(struct device_lane *l)
{
    device_leave(l->store->device);
}

int device_store_end(struct device_store *s, struct error *err)
{
    int rc = copies_wait(s->device, err);

    device_leave(s->device);
    return rc;
}

static int pieces_store(struct device_lane *l, const unsigned char *from, size_t n,
                        struct error *err)
{
    for (size_t at = 0, some; at < n; at += some) {
        void *room = device_lane_room(l, err);

        some = piece_bytes(n - at);
        if (!room)
            return -1;
        memcpy(room, from + at, some);
        if (device_lane_send(l, at, some, err) < 0)
            return -1;
    }
    return 0;
}

int device_copy_in(int kind, int id, void *to, const void *from, size_t n,
                   struct error *err)
{
    struct device_store s;
    struct device_lane lane;
    int rc;

    if (device_store_begin(kind, id, to, n, 1, &s, err) < 0)
        return -1;
    rc = device_lane_enter(&s, 0, &lane, err);
    if (rc == 0) {
        rc = pieces_store(&lane, from, n, err);
        device_lane_leave(&lane);
    }
    if (device_store_end(&s, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

void device_end(void)
{
    devices_clear();
}

void device_abandon(void)
{
    devices_abandon();
}
