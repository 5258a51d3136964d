/*
 * batch_slot.h - memory that a client maps, for one batch at a time: it is sealed, so that
 * the client cannot take it away, and made anew when a batch needs more.
 */
#ifndef RAYTRAIN_COMMAND_BATCH_SLOT_H
#define RAYTRAIN_COMMAND_BATCH_SLOT_H

#include <stddef.h>

#include "util/error.h"

#define BATCH_SLOTS 8 /* of one client; as in _slots.py */

/* Zeroed: there is none yet. */
struct batch_slot {
    unsigned char *memory;
    size_t bytes;
    int fd;
};

/* Room for this number of bytes, of `at_least` if it is made. 1: it is new, with other contents,
 * and the client needs the descriptor; 0: it was there; -1: RAYTRAIN_ENOMEM. */
int batch_slot_ready(struct batch_slot *s, size_t bytes, size_t at_least,
                     struct error *err);
void batch_slot_clear(struct batch_slot *s);

#endif
