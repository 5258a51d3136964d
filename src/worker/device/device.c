/*
 * device.c - see device.h: is it memory of the device, copies out, copies in.
 *
 * A copy, and each lane of a copy to a card, has two pieces of pinned memory: while the card
 * copies one, the host reads or fills the other.
 */
#include "config.h"

#include "device/device.h"

#include <string.h>

#include "device/devices.h"
#include "device/group.h"

/* ---- Whose memory is it? ---- */

static int byte_check(const struct card *card, const void *p, void **context,
                      struct error *err)
{
    const char *name = card->vendor->name;
    int found;

    if (card->vendor->locate(p, &found, context, err) < 0)
        return -1;
    if (found == VENDOR_NO_CARD)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "%p is no memory of a %s card: it is host memory, or was freed; "
            "for host memory, device is RAYTRAIN_HOST",
            p, name);
    if (found != card->id)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%p is memory of %s card %d, and device_id says %d", p, name,
                         found, card->id);
    if (*context && *context != card->context)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "%p was allocated in a context of its own on %s card %d: use the "
            "primary context, as cudaMalloc() does",
            p, name, found);
    return 0;
}

/* Does the allocation that begins before `data` end after its n bytes? */
static int allocation_has(const struct card *card, const void *data, uint64_t n,
                          bool *has, struct error *err)
{
    const void *start = NULL;
    size_t size = 0;

    *has = false;
    if (card->vendor->allocation(data, &start, &size, err) < 0)
        return -1;
    *has = n <= size && (uintptr_t)data - (uintptr_t)start <= size - n;
    return 0;
}

int device_is_one(int device, int id, const void *data, uint64_t n, bool *is_one,
                  struct error *err)
{
    struct card *card = card_enter(device, id, err);
    int rc;

    if (!card)
        return -1;
    rc = allocation_has(card, data, n, is_one, err);
    card_leave(card);
    return rc;
}

/* Memory that a context has allocated is one allocation. Other memory may consist of several
 * that were mapped side by side, so that only its ends are known to belong to it. */
int card_check_memory(const struct card *card, const void *data, uint64_t n,
                      struct error *err)
{
    bool is_one = true;
    void *context;

    if (byte_check(card, data, &context, err) < 0)
        return -1;
    if (byte_check(card, (const char *)data + (n - 1), &context, err) < 0)
        return error_prefix(err, "its last byte");
    if (context && allocation_has(card, data, n, &is_one, err) < 0)
        return -1;
    if (is_one)
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "the %llu bytes at %p are not in one allocation of %s card %d: look "
        "at shape and dtype",
        (unsigned long long)n, data, card->vendor->name, card->id);
}

int device_check(int device, int id, const void *data, uint64_t n, struct error *err)
{
    struct card *card = card_enter(device, id, err);
    int rc;

    if (!card)
        return -1;
    rc = card_check_memory(card, data, n, err);
    card_leave(card);
    return rc;
}

/* ---- Copies ---- */

/* A stream of another card would be refused only when it is used. */
static int stream_check(const struct card *card, void *stream, struct error *err)
{
    void *context = card->context;

    if (stream && card->vendor->stream_context &&
        card->vendor->stream_context(stream, &context, err) < 0)
        return -1;
    if (context == card->context)
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "the stream is not one of %s card %d, or not of its primary context",
        card->vendor->name, card->id);
}

int device_set_stream(int device, int id, void *stream, struct error *err)
{
    struct card *card = card_enter(device, id, err);
    int rc;

    if (!card)
        return -1;
    rc = stream_check(card, stream, err);
    if (rc == 0)
        card->caller = stream;
    card_leave(card);
    return rc;
}

static int caller_wait(struct card *card, struct error *err)
{
    const struct device_vendor *v = card->vendor;

    if (card_prepare(card, 1, err) < 0 || card_after_caller(card, card->ready, err) < 0)
        return -1;
    return v->event_wait(card->ready, err);
}

int device_wait_caller(int device, int id, struct error *err)
{
    struct card *card = card_enter(device, id, err);
    int rc;

    if (!card)
        return -1;
    rc = caller_wait(card, err);
    card_leave(card);
    return rc < 0 ? rc : device_groups_check(err);
}

/* Be ready to copy: what the caller has queued before comes first. */
static int copies_begin(struct card *card, const void *data, uint64_t n, int n_lanes,
                        struct error *err)
{
    const struct device_vendor *v = card->vendor;

    if (card_check_memory(card, data, n, err) < 0 ||
        card_prepare(card, n_lanes, err) < 0 ||
        card_after_caller(card, card->ready, err) < 0)
        return -1;
    return v->stream_wait(card->stream, card->ready, err);
}

/* Wait for all copies, so that none is under way to memory that is used again. */
static int copies_wait(const struct card *card, struct error *err)
{
    const struct device_vendor *v = card->vendor;

    if (v->event_record(card->ready, card->stream, err) < 0)
        return -1;
    return v->event_wait(card->ready, err);
}

static size_t piece_bytes(size_t left)
{
    return left < DEVICE_PIECE_BYTES ? left : DEVICE_PIECE_BYTES;
}

static int copies_out(struct card *card, const unsigned char *from, unsigned char *to,
                      size_t n, struct error *err)
{
    const struct device_vendor *v = card->vendor;
    size_t asked = 0, got = 0;
    struct piece *piece;

    while (got < n) {
        for (; asked < n && asked < got + 2 * DEVICE_PIECE_BYTES;
             asked += piece_bytes(n - asked)) {
            piece = &card->pieces[asked / DEVICE_PIECE_BYTES % 2];
            if (v->copy_out(piece->memory, from + asked, piece_bytes(n - asked),
                            card->stream, err) < 0 ||
                v->event_record(piece->copied, card->stream, err) < 0)
                return -1;
        }
        piece = &card->pieces[got / DEVICE_PIECE_BYTES % 2];
        if (v->event_wait(piece->copied, err) < 0)
            return -1;
        memcpy(to + got, piece->memory, piece_bytes(n - got));
        got += piece_bytes(n - got);
    }
    return 0;
}

int device_fetch(int device, int id, const void *from, void *to, size_t n,
                 struct error *err)
{
    struct card *card = card_enter(device, id, err);
    int rc;

    if (!card)
        return -1;
    rc = copies_begin(card, from, n, 1, err);
    if (rc == 0 && copies_out(card, from, to, n, err) < 0) {
        copies_wait(card, NULL); /* the error is known */
        rc = -1;
    }
    card_leave(card);
    return rc < 0 ? rc : device_groups_check(err);
}

int device_store_begin(int device, int id, void *to, uint64_t n, int n_lanes,
                       struct device_store *s, struct error *err)
{
    *s = (struct device_store){card_enter(device, id, err), to};
    if (!s->card)
        return -1;
    if (copies_begin(s->card, to, n, n_lanes, err) == 0)
        return 0;
    card_leave(s->card);
    return -1;
}

int device_lane_enter(const struct device_store *s, int lane, struct device_lane *l,
                      struct error *err)
{
    *l = (struct device_lane){s, &s->card->pieces[2 * lane], 0};
    return card_resume(s->card, err);
}

void *device_lane_room(struct device_lane *l, struct error *err)
{
    struct piece *piece = &l->pieces[l->n_pieces % 2];

    if (l->n_pieces >= 2 && l->store->card->vendor->event_wait(piece->copied, err) < 0)
        return NULL;
    return piece->memory;
}

int device_lane_send(struct device_lane *l, uint64_t at, size_t n, struct error *err)
{
    const struct card *card = l->store->card;
    const struct device_vendor *v = card->vendor;
    struct piece *piece = &l->pieces[l->n_pieces % 2];

    if (v->copy_in(l->store->to + at, piece->memory, n, card->stream, err) < 0 ||
        v->event_record(piece->copied, card->stream, err) < 0)
        return -1;
    l->n_pieces++;
    return 0;
}

void device_lane_leave(struct device_lane *l)
{
    card_leave(l->store->card);
}

int device_store_end(struct device_store *s, struct error *err)
{
    int rc = copies_wait(s->card, err);

    card_leave(s->card);
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

int device_copy_in(int device, int id, void *to, const void *from, size_t n,
                   struct error *err)
{
    struct device_store s;
    struct device_lane lane;
    int rc;

    if (device_store_begin(device, id, to, n, 1, &s, err) < 0)
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
    cards_clear();
}

void device_abandon(void)
{
    cards_abandon();
}
