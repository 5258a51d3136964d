/*
 * cards.h - the cards that this process copies from and to, each with what copies need: a
 * stream, and two pieces of pinned memory.
 */
#ifndef RAYTRAIN_DEVICE_CARDS_H
#define RAYTRAIN_DEVICE_CARDS_H

#include "device/vendor.h"

struct piece {
    void *memory; /* pinned, DEVICE_PIECE_BYTES */
    void *copied; /* the event after the latest copy to or from it */
};

struct card {
    struct card *next;
    const struct device_vendor *vendor;
    int id;
    void *context;
    void *caller; /* the stream on which the user works; NULL: the default stream */
    /* At the first copy: */
    void *stream;
    void *ready; /* an event */
    struct piece pieces[2];
};

/* The card, whose context is current from now on until card_leave(); NULL on failure. */
struct card *card_enter(int device, int id, struct error *err);
void card_leave(const struct card *card);
/* Have all that copies need. */
int card_prepare(struct card *card, struct error *err);
/* Forget all cards. */
void cards_clear(void);

#endif
