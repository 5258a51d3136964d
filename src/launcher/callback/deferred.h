/*
 * deferred.h - work on files in a separate thread, for callbacks: storage may be slow
 * or hang, and must not delay the launcher.
 *
 * The launcher posts items, and the thread works on all those of a period together. If
 * the thread cannot keep up, items are rejected. All calls come from the launcher's
 * thread; all operations run in the other one.
 */
#ifndef RAYTRAIN_CALLBACK_DEFERRED_H
#define RAYTRAIN_CALLBACK_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

/* The maximum number of waiting items. */
#define DEFERRED_MOST 8192

struct deferred_ops {
    /* Work on these items, in the order in which they were posted; the caller frees
     * them. last: no more items are expected for now, so hold nothing back. 1: err is a
     * message, and the work continues; -1: the work has failed with err, and ends. */
    int (*work)(void *state, void *const *items, size_t n, bool last,
                struct error *err);
    void (*item_free)(void *item);
    void (*state_free)(void *state);
};

struct deferred;

/* Takes ownership of the state, even on failure. */
int deferred_create(const struct deferred_ops *ops, void *state, double period_s,
                    struct deferred **out, struct error *err);
/* Takes ownership of the item (NULL: out of memory). False: it was dropped. */
bool deferred_post(struct deferred *d, void *item);
/* Is there a message? *failed: the work has failed, and the message says why. */
bool deferred_says(struct deferred *d, struct error *what, bool *failed);
/* Wait until all items are done, at most `seconds`, or until the user asks to stop.
 * True: they are done, or the work has failed. */
bool deferred_finish(struct deferred *d, double seconds);
/* Drops waiting items. If the thread is working, it frees everything when it is done.
 * NULL is fine. */
void deferred_destroy(struct deferred *d);

#endif
