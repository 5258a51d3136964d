/*
 * deferred.h - work on files in a thread of its own, for callbacks: storage may be slow
 * or hang, and must not hold up the launcher.
 *
 * The launcher posts items, and the thread works on those that have come in a period
 * together. If the thread cannot keep up, items are refused. All calls come from the
 * launcher's thread; all operations run in the other one.
 */
#ifndef RAYTRAIN_CALLBACK_DEFERRED_H
#define RAYTRAIN_CALLBACK_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

/* Items that wait at most. */
#define DEFERRED_MOST 8192

struct deferred_ops {
    /* Work on these items, in the order in which they were posted; the caller frees
     * them. last: more will not come for now, keep nothing back. 1: err is something to
     * say, and the work goes on; -1: it has failed with err, and nothing more is
     * done. */
    int (*work)(void *state, void *const *items, size_t n, bool last,
                struct error *err);
    void (*item_free)(void *item);
    void (*state_free)(void *state);
};

struct deferred;

/* Takes ownership of the state, also on failure. */
int deferred_create(const struct deferred_ops *ops, void *state, double period_s,
                    struct deferred **out, struct error *err);
/* Takes ownership of the item (NULL: out of memory). False: it is dropped. */
bool deferred_post(struct deferred *d, void *item);
/* Is there something to say? *failed: it is the reason why nothing more is done. */
bool deferred_says(struct deferred *d, struct error *what, bool *failed);
/* Wait until all items are worked on, at most so many seconds, or until the user wants
 * to stop. True: they are, or the
 * work has failed. */
bool deferred_finish(struct deferred *d, double seconds);
/* Drops items that are not worked on yet. If the thread is in the middle of its work, it
 * frees everything later. NULL is fine. */
void deferred_destroy(struct deferred *d);

#endif
