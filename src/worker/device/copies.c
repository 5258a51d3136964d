/*
 * copies.c - see copies.h: memory that is pinned, what each card has, the steps of a save.
 */
#include "config.h"

#include "device/copies.h"

#include <stdlib.h>

#include "device/cards.h"
#include "device/device.h"
#include "device/group.h"

/* A card that is copied from. Its copies are queued on a stream of their own, so that others
 * need not wait for them. */
struct source {
    struct source *next;
    struct card *card;
    void *stream;
    void *settled;    /* the event after the copies of what does not stay, */
    void *all;        /* and the one after all copies */
    bool begun;       /* in this save: it is ordered after the caller's work */
    bool has_settled; /* likewise */
    bool has_staying; /* likewise: copies may go on after settle */
    bool going;       /* copies may be under way */
};

struct device_copies {
    struct source *sources;
    unsigned char *memory;
    size_t n;
    struct card *pinned_by; /* NULL: it is not pinned */
    bool refused;           /* and cannot be */
    bool noted;             /* as the caller knows */
    struct error why;
};

int device_copies_create(struct device_copies **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

/* ---- The memory ---- */

void device_copies_forget(struct device_copies *c)
{
    struct card *card = c->pinned_by;

    if (card && !cards_abandoned() && card_resume(card, NULL) == 0) {
        card->vendor->unpin(c->memory);
        card_leave(card);
    }
    c->memory = NULL;
    c->n = 0;
    c->pinned_by = NULL;
    c->refused = c->noted = false;
}

/* It was pinned in a context that was destroyed. */
static bool is_unpinned(const struct device_copies *c)
{
    return c->pinned_by && card_is_lost(c->pinned_by);
}

void device_copies_begin(struct device_copies *c, void *memory, size_t n)
{
    for (struct source *s = c->sources; s; s = s->next)
        s->begun = s->has_settled = s->has_staying = s->going = false;
    if (c->memory == memory && n <= c->n && !is_unpinned(c))
        return;
    device_copies_forget(c);
    c->memory = memory;
    c->n = n;
}

/* Is the memory pinned for this card, whose context is current? */
static bool memory_pin(struct device_copies *c, struct card *card)
{
    const struct device_vendor *v = card->vendor;

    if (c->pinned_by)
        return c->pinned_by->vendor == v;
    if (c->refused)
        return false;
    if (v->pin(c->memory, c->n, &c->why) < 0)
        c->refused = true;
    else
        c->pinned_by = card;
    return !c->refused;
}

bool device_copies_refused(struct device_copies *c, struct error *why)
{
    bool is_new = c->refused && !c->noted;

    c->noted = c->refused;
    if (is_new)
        *why = c->why;
    return is_new;
}

/* ---- Cards ---- */

static int source_prepare(struct source *s, struct error *err)
{
    const struct device_vendor *v = s->card->vendor;

    if (!s->stream && v->stream_create(&s->stream, err) < 0)
        return -1;
    if (!s->settled && v->event_create(&s->settled, err) < 0)
        return -1;
    return s->all ? 0 : v->event_create(&s->all, err);
}

/* Its context is current. NULL on failure. */
static struct source *source_of(struct device_copies *c, struct card *card,
                                struct error *err)
{
    struct source *s = c->sources;

    while (s && s->card != card)
        s = s->next;
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s) {
            error_set(err, RAYTRAIN_ENOMEM, "out of memory");
            return NULL;
        }
        s->card = card;
        s->next = c->sources;
        c->sources = s;
    }
    return source_prepare(s, err) == 0 ? s : NULL;
}

/* What the caller has queued before comes first. */
static int source_begin(struct source *s, struct error *err)
{
    const struct device_vendor *v = s->card->vendor;

    if (s->begun)
        return 0;
    if (card_after_caller(s->card, s->all, err) < 0 ||
        v->stream_wait(s->stream, s->all, err) < 0)
        return -1;
    s->begun = true;
    return 0;
}

static void source_destroy(struct source *s)
{
    const struct device_vendor *v = s->card->vendor;

    if (!cards_abandoned() && card_resume(s->card, NULL) == 0) {
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

/* The events after what is in the stream now. */
static int events_record(struct source *s, bool stays, struct error *err)
{
    const struct device_vendor *v = s->card->vendor;

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
    const struct device_vendor *v = s->card->vendor;

    if (source_begin(s, err) < 0 || v->copy_out(to, from, n, s->stream, err) < 0)
        return -1;
    if (events_record(s, stays, err) == 0)
        return 0;
    s->has_staying = true; /* the copy is under way, and must be waited for */
    events_record(s, false, NULL);
    return -1;
}

static int copy_start(struct device_copies *c, struct card *card, const void *from,
                      void *to, size_t n, bool stays, struct error *err)
{
    struct source *s;

    if (card_check_memory(card, from, n, err) < 0)
        return -1;
    if (!memory_pin(c, card))
        return device_fetch(card->vendor->device, card->id, from, to, n, err);
    s = source_of(c, card, err);
    return s ? copy_queue(s, from, to, n, stays, err) : -1;
}

int device_copies_start(struct device_copies *c, int device, int id, const void *from,
                        void *to, size_t n, bool stays, struct error *err)
{
    struct card *card = card_enter(device, id, err);
    int rc;

    if (!card)
        return -1;
    rc = copy_start(c, card, from, to, n, stays, err);
    card_leave(card);
    return rc;
}

/* Wait, in the card's context. What was copied may be the result of a collective: if that was
 * aborted, it is not what it seems. */
static int event_await(const struct source *s, void *event, struct error *err)
{
    const struct device_vendor *v = s->card->vendor;
    int rc;

    if (cards_abandoned())
        return error_set(err, RAYTRAIN_EFAILED, "the process is about to end");
    if (card_resume(s->card, err) < 0)
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
        if (card_resume(s->card, err) < 0)
            return -1;
        rc = card_before_caller(s->card, s->all, err);
        card_leave(s->card);
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
    free(c);
}
