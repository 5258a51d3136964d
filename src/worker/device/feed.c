/* feed.c - the two slots of a feed: their memory, copies to the GPU, and turns. */
#include "config.h"

#include "device/feed.h"

#include <stdbool.h>
#include <stdlib.h>

#include "device/devices.h"

struct slot {
    void *memory; /* on the GPU */
    void *pinned;
    size_t room;  /* bytes of each */
    void *copied; /* the event after the latest copy */
    void *used;   /* the event after the caller's work on the batch before */
    bool has_copied, has_used;
};

struct device_feed {
    struct device *device;
    void *stream;
    struct slot slots[2];
};

/* ---- Creation ---- */

static int slot_prepare(const struct device_vendor *v, struct slot *s,
                        struct error *err)
{
    return v->event_create(&s->copied, err) < 0 ? -1 : v->event_create(&s->used, err);
}

static int feed_prepare(struct device_feed *f, struct error *err)
{
    const struct device_vendor *v = f->device->vendor;

    if (v->stream_create(&f->stream, err) < 0 || slot_prepare(v, &f->slots[0], err) < 0)
        return -1;
    return slot_prepare(v, &f->slots[1], err);
}

int device_feed_create(int kind, int id, struct device_feed **out, struct error *err)
{
    struct device_feed *f = calloc(1, sizeof *f);
    int rc;

    if (!f)
        return error_no_memory(err);
    f->device = device_enter(kind, id, err);
    if (!f->device) {
        free(f);
        return -1;
    }
    rc = feed_prepare(f, err);
    device_leave(f->device);
    if (rc < 0) {
        device_feed_destroy(f);
        return -1;
    }
    *out = f;
    return 0;
}

/* ---- A slot ---- */

static void slot_free(const struct device_vendor *v, struct slot *s)
{
    if (s->memory)
        v->memory_free(s->memory);
    if (s->pinned)
        v->pinned_free(s->pinned);
    s->memory = s->pinned = NULL;
    s->room = 0;
}

/* Wait until the pinned memory has been copied, and the memory on the GPU is not
 * used. */
static int slot_await(const struct device_vendor *v, const struct slot *s,
                      bool is_growing, struct error *err)
{
    if (s->has_copied && v->event_wait(s->copied, err) < 0)
        return -1;
    return is_growing && s->has_used ? v->event_wait(s->used, err) : 0;
}

static int slot_reserve(const struct device_vendor *v, struct slot *s, size_t n,
                        struct error *err)
{
    if (slot_await(v, s, n > s->room, err) < 0)
        return -1;
    if (n <= s->room)
        return 0;
    slot_free(v, s);
    if (v->memory_alloc(n, &s->memory, err) < 0) {
        s->memory = NULL;
        return -1;
    }
    if (v->pinned_alloc(n, &s->pinned, err) < 0) {
        s->pinned = NULL;
        slot_free(v, s);
        return -1;
    }
    s->room = n;
    return 0;
}

static int slot_send(const struct device_feed *f, struct slot *s, size_t n,
                     struct error *err)
{
    const struct device_vendor *v = f->device->vendor;

    if ((s->has_used && v->stream_wait(f->stream, s->used, err) < 0) ||
        v->copy_in(s->memory, s->pinned, n, f->stream, err) < 0 ||
        v->event_record(s->copied, f->stream, err) < 0)
        return -1;
    s->has_copied = true;
    return 0;
}

static int slot_turn(const struct device_feed *f, struct slot *s, struct slot *before,
                     struct error *err)
{
    if (device_after_caller(f->device, before->used, err) < 0)
        return -1;
    before->has_used = true;
    return device_before_caller(f->device, s->copied, err);
}

/* ---- The steps ---- */

void *device_feed_room(struct device_feed *f, int slot, size_t n, struct error *err)
{
    const struct device_vendor *v = f->device->vendor;
    struct slot *s = &f->slots[slot];
    int rc;

    if (device_resume(f->device, err) < 0)
        return NULL;
    rc = slot_reserve(v, s, n, err);
    v->leave();
    return rc == 0 ? s->pinned : NULL;
}

int device_feed_send(struct device_feed *f, int slot, size_t n, struct error *err)
{
    const struct device_vendor *v = f->device->vendor;
    int rc;

    if (device_resume(f->device, err) < 0)
        return -1;
    rc = slot_send(f, &f->slots[slot], n, err);
    v->leave();
    return rc;
}

int device_feed_turn(struct device_feed *f, int slot, struct error *err)
{
    const struct device_vendor *v = f->device->vendor;
    int rc;

    if (device_resume(f->device, err) < 0)
        return -1;
    rc = slot_turn(f, &f->slots[slot], &f->slots[!slot], err);
    v->leave();
    return rc;
}

void *device_feed_memory(const struct device_feed *f, int slot)
{
    return f->slots[slot].memory;
}

static void slot_clear(const struct device_vendor *v, struct slot *s)
{
    slot_await(v, s, true, NULL); /* a failure does not matter: the batch is dropped */
    slot_free(v, s);
    if (s->copied)
        v->event_destroy(s->copied);
    if (s->used)
        v->event_destroy(s->used);
}

void device_feed_destroy(struct device_feed *f)
{
    const struct device_vendor *v;

    if (!f)
        return;
    v = f->device->vendor;
    if (!devices_abandoned() && device_resume(f->device, NULL) == 0) {
        slot_clear(v, &f->slots[0]);
        slot_clear(v, &f->slots[1]);
        if (f->stream)
            v->stream_destroy(f->stream);
        v->leave();
    }
    free(f);
}
