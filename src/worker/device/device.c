/*
 * device.c - see device.h: is it memory of the device, copies out, copies in.
 *
 * A copy has two pieces of pinned memory: while the card copies one, the host reads or fills
 * the other.
 */
#include "config.h"

#include "device/device.h"

#include <string.h>

#include "device/cards.h"
#include "device/group.h"

/* ---- Whose memory is it? ---- */

static int byte_check(const struct card *card, const void *p, struct error *err)
{
    const char *name = card->vendor->name;
    void *context;
    int found;

    if (card->vendor->locate(p, &found, &context, err) < 0)
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
    if (context && context != card->context)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "%p was allocated in a context of its own on %s card %d: use the "
            "primary context, as cudaMalloc() does",
            p, name, found);
    return 0;
}

/* An allocation may consist of several that were mapped side by side, so that only its ends
 * are known to belong to it. */
static int memory_check(const struct card *card, const void *data, uint64_t n,
                        struct error *err)
{
    if (byte_check(card, data, err) < 0)
        return -1;
    if (byte_check(card, (const char *)data + (n - 1), err) < 0)
        return error_prefix(err, "its last byte");
    return 0;
}

int device_check(int device, int id, const void *data, uint64_t n, struct error *err)
{
    struct card *card = card_enter(device, id, err);
    int rc;

    if (!card)
        return -1;
    rc = memory_check(card, data, n, err);
    card_leave(card);
    return rc;
}

/* ---- Copies ---- */

int device_set_stream(int device, int id, void *stream, struct error *err)
{
    struct card *card = card_enter(device, id, err);

    if (!card)
        return -1;
    card->caller = stream;
    card_leave(card);
    return 0;
}

/* Be ready to copy: what the caller has queued before comes first. */
static int copies_begin(struct card *card, const void *data, uint64_t n,
                        struct error *err)
{
    const struct device_vendor *v = card->vendor;

    if (memory_check(card, data, n, err) < 0 || card_prepare(card, err) < 0 ||
        v->event_record(card->ready, card->caller, err) < 0)
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
    rc = copies_begin(card, from, n, err);
    if (rc == 0 && copies_out(card, from, to, n, err) < 0) {
        copies_wait(card, NULL); /* the error is known */
        rc = -1;
    }
    card_leave(card);
    return rc < 0 ? rc : device_groups_check(err);
}

int device_store_begin(int device, int id, void *to, uint64_t n, struct device_store *s,
                       struct error *err)
{
    *s = (struct device_store){card_enter(device, id, err), to, 0};
    if (!s->card)
        return -1;
    if (copies_begin(s->card, to, n, err) == 0)
        return 0;
    card_leave(s->card);
    return -1;
}

void *device_store_room(struct device_store *s, struct error *err)
{
    struct piece *piece = &s->card->pieces[s->n_pieces % 2];

    if (s->n_pieces >= 2 && s->card->vendor->event_wait(piece->copied, err) < 0)
        return NULL;
    return piece->memory;
}

int device_store_send(struct device_store *s, size_t n, struct error *err)
{
    const struct device_vendor *v = s->card->vendor;
    struct piece *piece = &s->card->pieces[s->n_pieces % 2];

    if (v->copy_in(s->to, piece->memory, n, s->card->stream, err) < 0 ||
        v->event_record(piece->copied, s->card->stream, err) < 0)
        return -1;
    s->to += n;
    s->n_pieces++;
    return 0;
}

int device_store_end(struct device_store *s, struct error *err)
{
    int rc = copies_wait(s->card, err);

    card_leave(s->card);
    return rc;
}

static int pieces_store(struct device_store *s, const unsigned char *from, size_t n,
                        struct error *err)
{
    for (size_t at = 0; at < n;) {
        size_t some = piece_bytes(n - at);
        void *room = device_store_room(s, err);

        if (!room)
            return -1;
        memcpy(room, from + at, some);
        if (device_store_send(s, some, err) < 0)
            return -1;
        at += some;
    }
    return 0;
}

int device_copy_in(int device, int id, void *to, const void *from, size_t n,
                   struct error *err)
{
    struct device_store s;
    int rc;

    if (device_store_begin(device, id, to, n, &s, err) < 0)
        return -1;
    rc = pieces_store(&s, from, n, err);
    if (device_store_end(&s, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

void device_end(void)
{
    cards_clear();
}
