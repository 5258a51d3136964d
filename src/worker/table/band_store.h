/*
 * band_store.h - unpacked bands (packing.h) in memory that the ranks of a node share,
 * so that each is unpacked by one of them.
 *
 * There is no lock: the state of a slot is one word that ranks change by compare and
 * swap. A rank that dies may leave a slot that is never filled, or never free: others
 * wait for it no longer than a second, and unpack the band for themselves.
 */
#ifndef RAYTRAIN_TABLE_BAND_STORE_H
#define RAYTRAIN_TABLE_BAND_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct band_store;

/* Which band: of which column, for which slots of equal size are kept; in which
 * packing. */
struct band_id {
    unsigned column;
    uint64_t packing, band;
};

enum band_found {
    BAND_READY,   /* its rows may be read */
    BAND_OURS,    /* its rows are to be written */
    BAND_AWAITED, /* another rank is unpacking it, or taking a slot: look again */
    BAND_NO_ROOM
};

#define BAND_COLUMNS_MAX 64

/*
 * A store for a node's `ranks` ranks: for each of n columns, bands of up to bytes[i]
 * bytes, of which there are bands[i]. NULL if there is no memory, or no use for it:
 * fewer than two ranks. `limit`: bytes at the most. *fd is the file that others open to
 * map it.
 */
struct band_store *band_store_create(int ranks, unsigned n, const uint64_t *bytes,
                                     const uint64_t *bands, uint64_t limit, int *fd);
/* The store of another rank, from its file, which is closed. NULL: it cannot be
 * mapped. */
struct band_store *band_store_attach(int fd);
void band_store_detach(struct band_store *s); /* NULL is fine */

/* Look for a band, or make room for it. *rows is set if it is READY or OURS; then call
 * release, or publish. Any thread. */
enum band_found band_store_find(struct band_store *s, const struct band_id *id,
                                unsigned char **rows, uint32_t *slot);
void band_store_release(struct band_store *s, uint32_t slot);
/* OURS has been written, and is READY; or it has failed, and is free. */
void band_store_publish(struct band_store *s, uint32_t slot, bool ok);

#endif
