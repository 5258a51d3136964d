/*
 * devices.h - the cards that this process uses, each with what copies need: a stream, and
 * pieces of pinned memory.
 */
#ifndef RAYTRAIN_DEVICE_DEVICES_H
#define RAYTRAIN_DEVICE_DEVICES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
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
    /* One byte of memory, gone when the context is destroyed: handles are of no use then, and
     * to use them may crash. NULL: this is not seen. */
    void *witness;
    uint64_t witness_number;
    atomic_bool lost; /* the context was destroyed */
    bool kept;        /* a thread that does not end uses it */
    void *caller; /* the stream on which the user works; NULL: the default stream */
    /* At the first copy: */
    void *stream;
    void *ready;                               /* an event */
    struct piece pieces[DEVICE_LANES_MAX * 2]; /* two of each lane that has been used */
};

/* The card, whose context is current from now on until card_leave(); NULL on failure. A
 * card stays where it is until cards_clear(). If its context was destroyed, another card
 * takes its place, and the old one stays, lost. */
struct card *card_enter(int device, int id, struct error *err);
/* Enter a card again, in any thread. -1, with a sentence, if it is lost: handles that were
 * made there must not be used. */
int card_resume(struct card *card, struct error *err);
bool card_is_lost(struct card *card);
void card_leave(const struct card *card);
/* The event comes after what the caller has queued on its stream; what the caller queues there
 * from now on waits for the event. The card is entered. RAYTRAIN_EINVAL: that stream is being
 * captured into a graph. */
int card_after_caller(const struct card *card, void *event, struct error *err);
int card_before_caller(const struct card *card, void *event, struct error *err);
/* Have all that copies by so many lanes need. */
int card_prepare(struct card *card, int n_lanes, struct error *err);
/* Are these n > 0 bytes memory of the card? Its context is current. */
int card_check_memory(const struct card *card, const void *data, uint64_t n,
                      struct error *err);
/* Forget all cards; those that are kept stay as they are. */
void cards_clear(void);

/* device_abandon() was called: nothing is given back, and nothing waits. */
bool cards_abandoned(void);
void cards_abandon(void);

#endif
