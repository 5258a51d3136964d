/*
 * batch_slot.h - memory for one batch at a time, which a client maps. It is sealed, so
 * that the client cannot shrink it, and replaced when a batch needs more.
 */
#ifndef RAYTRAIN_COMMAND_BATCH_SLOT_H
#define RAYTRAIN_COMMAND_BATCH_SLOT_H

#include <stddef.h>

#include "util/error.h"

#define BATCH_SLOTS 8 /* of one client; as in _slots.py */

/* All zeros: no memory yet. */
struct batch_slot {
    unsigned char *memory;
    size_t bytes;
    int fd;
};

/* Make room for `bytes`; new memory has at least `at_least` bytes. Returns 1 if it is
 * new: the client needs its descriptor; 0 if there was room; -1: RAYTRAIN_ENOMEM. */
int batch_slot_ready(struct batch_slot *s, size_t bytes, size_t at_least,
                     struct error *err);
void batch_slot_clear(struct batch_slot *s);

#endif
