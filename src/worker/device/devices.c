#include "config.h"

#include "device/devices.h"

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

/* Was the context of the card destroyed, as by cudaDeviceReset()? */
bool card_is_lost(struct card *card)
{
    uint64_t number;

    if (card->witness && !atomic_load(&card->lost) &&
        card->vendor->allocation_number(card->witness, &number, NULL) == 0 &&
        number != card->witness_number)
        atomic_store(&card->lost, true);
    return atomic_load(&card->lost);
}

/* Without one, as on a card that is full, nothing is noticed. Its context is current. */
static void witness_create(struct card *card)
{
    const struct device_vendor *v = card->vendor;

    if (!v->allocation_number || v->memory_alloc(1, &card->witness, NULL) < 0)
        card->witness = NULL;
    else if (v->allocation_number(card->witness, &card->witness_number, NULL) < 0) {
        v->memory_free(card->witness);
        card->witness = NULL;
    }
}

static struct card *card_open(const struct device_vendor *vendor, int id,
                              struct error *err)
{
    struct card *card = calloc(1, sizeof *card);

    if (!card) {
        error_no_memory(err);
        return NULL;
    }
    card->vendor = vendor;
    card->id = id;
    if (vendor->card_open(id, &card->context, err) < 0) {
        free(card);
        return NULL;
    }
    if (vendor->enter(card->context, err) < 0) {
        vendor->card_close(id);
        free(card);
        return NULL;
    }
    witness_create(card);
    vendor->leave();
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
    while (card && (card->vendor != vendor || card->id != id || card_is_lost(card)))
        card = card->next;
    if (!card)
        card = card_open(vendor, id, err);
    if (!card || vendor->enter(card->context, err) < 0)
        return NULL;
    return card;
}

int card_resume(struct card *card, struct error *err)
{
    if (card_is_lost(card))
        return error_set(
            err, RAYTRAIN_EFAILED,
            "%s card %d was reset, as by cudaDeviceReset(), and what raytrain "
            "had there is lost: before that, call raytrain_checkpoint_wait(), "
            "and destroy reducers",
            card->vendor->name, card->id);
    return card->vendor->enter(card->context, err);
}

void card_leave(const struct card *card)
{
    card->vendor->leave();
}

/* What is queued in a stream that is being captured is done when the graph is launched, if
 * ever, and to wait for it spoils the capture. */
static int caller_check(const struct card *card, struct error *err)
{
    bool capturing = false;

    if (card->vendor->is_capturing(card->caller, &capturing, err) < 0)
        return -1;
    if (!capturing)
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "the stream of this process on %s card %d is being captured into a "
        "graph, of which raytrain's work cannot be a part: call raytrain "
        "before the capture begins or after it ends",
        card->vendor->name, card->id);
}

int card_after_caller(const struct card *card, void *event, struct error *err)
{
    return caller_check(card, err) < 0
               ? -1
               : card->vendor->event_record(event, card->caller, err);
}

int card_before_caller(const struct card *card, void *event, struct error *err)
{
    return caller_check(card, err) < 0
               ? -1
               : card->vendor->stream_wait(card->caller, event, err);
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
    bool lost = card_is_lost(card),
         entered = !lost && v->enter(card->context, NULL) == 0;

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
    if (entered && card->witness)
        v->memory_free(card->witness);
    if (entered)
        v->leave();
    if (!lost)
        v->card_close(card->id);
    free(card);
}

/* Asks the card, and does not wait for it. */
static int card_look(struct card *card, struct error *err)
{
    const struct device_vendor *v = card->vendor;
    bool done;
    int rc;

    if (v->enter(card->context, err) < 0)
        return -1;
    rc = card->ready ? 0 : v->event_create(&card->ready, err);
    if (rc == 0)
        rc = v->event_done(card->ready, &done, err);
    v->leave();
    return rc;
}

int device_cards_check(struct error *err)
{
    for (struct card *card = cards; card && !abandoned; card = card->next)
        if (!card_is_lost(card) && card_look(card, err) < 0)
            return error_prefix(err, "%s card %d has failed", card->vendor->name,
                                card->id);
    return 0;
}

void cards_clear(void)
{
    while (cards && !abandoned) {
        struct card *card = cards;

        cards = card->next;
        if (!card->kept)
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
