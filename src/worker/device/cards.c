#include "config.h"

#include "device/cards.h"

#include <stdatomic.h>
#include <stdlib.h>

static const struct device_vendor *const vendors[] = {&cuda_vendor, &hip_vendor};

static struct card *cards;
static atomic_bool abandoned;

static const struct device_vendor *vendor_find(int device, struct error *err)
{
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (vendors[i]->device == device)
            return vendors[i];
    error_set(err, RAYTRAIN_ENOTSUP, "there is no device of type %d", device);
    return NULL;
}

static struct card *card_open(const struct device_vendor *vendor, int id,
                              struct error *err)
{
    struct card *card = calloc(1, sizeof *card);

    if (!card) {
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        return NULL;
    }
    card->vendor = vendor;
    card->id = id;
    if (vendor->card_open(id, &card->context, err) < 0) {
        free(card);
        return NULL;
    }
    card->next = cards;
    cards = card;
    return card;
}

struct card *card_enter(int device, int id, struct error *err)
{
    const struct device_vendor *vendor = vendor_find(device, err);
    struct card *card = cards;

    if (!vendor || vendor->open(err) < 0)
        return NULL;
    while (card && (card->vendor != vendor || card->id != id))
        card = card->next;
    if (!card)
        card = card_open(vendor, id, err);
    if (!card || vendor->enter(card->context, err) < 0)
        return NULL;
    return card;
}

void card_leave(const struct card *card)
{
    card->vendor->leave();
}

static int piece_prepare(const struct device_vendor *v, struct piece *piece,
                         struct error *err)
{
    if (!piece->memory && v->pinned_alloc(DEVICE_PIECE_BYTES, &piece->memory, err) < 0)
        return -1;
    return piece->copied ? 0 : v->event_create(&piece->copied, err);
}

int card_prepare(struct card *card, int n_lanes, struct error *err)
{
    const struct device_vendor *v = card->vendor;

    if (!card->stream && v->stream_create(&card->stream, err) < 0)
        return -1;
    if (!card->ready && v->event_create(&card->ready, err) < 0)
        return -1;
    for (int i = 0; i < 2 * n_lanes; i++)
        if (piece_prepare(v, &card->pieces[i], err) < 0)
            return -1;
    return 0;
}

static void card_destroy(struct card *card)
{
    const struct device_vendor *v = card->vendor;
    bool entered = v->enter(card->context, NULL) == 0;

    for (int i = 0; entered && i < 2 * DEVICE_LANES_MAX; i++) {
        if (card->pieces[i].copied)
            v->event_destroy(card->pieces[i].copied);
        if (card->pieces[i].memory)
            v->pinned_free(card->pieces[i].memory);
    }
    if (entered && card->ready)
        v->event_destroy(card->ready);
    if (entered && card->stream)
        v->stream_destroy(card->stream);
    if (entered)
        v->leave();
    v->card_close(card->id);
    free(card);
}

void cards_clear(void)
{
    while (cards && !abandoned) {
        struct card *card = cards;

        cards = card->next;
        card_destroy(card);
    }
}

void cards_abandon(void)
{
    abandoned = true;
}

bool cards_abandoned(void)
{
    return abandoned;
}
