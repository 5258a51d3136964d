/*
 * band_store.h - unpacked bands (packing.h) in memory that the ranks of a node share,
 * so that each is unpacked by one of them.
 *
 * There is no lock: the state of a slot is one word that ranks change by compare and
 * swap. A rank that dies may leave a slot that is never filled, or never freed: others
 * wait for it at most a second, and then unpack the band themselves.
 */
#ifndef RAYTRAIN_TABLE_BAND_STORE_H
#define RAYTRAIN_TABLE_BAND_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct band_store;

/* A band: its column, which has its own slots of equal size; its packing. */
struct band_id {
    unsigned column;
    uint64_t packing, band;
};

enum band_found {
    BAND_READY,   /* its rows may be read */
    BAND_OURS,    /* this rank must write its rows */
    BAND_AWAITED, /* another rank is unpacking it, or taking a slot: look again */
    BAND_NO_ROOM
};

#define BAND_COLUMNS_MAX 64

/*
 * Creates a store for the `ranks` ranks of a node. Column i of n has bands[i] bands of
 * up to bytes[i] bytes. NULL if there is no memory, or there are fewer than two ranks.
 * `limit`: the most bytes. *fd is the file that others open to map it.
 */
struct band_store *band_store_create(int ranks, unsigned n, const uint64_t *bytes,
                                     const uint64_t *bands, uint64_t limit, int *fd);
/* Maps the store of another rank from its file, and closes fd. NULL: it cannot be
 * mapped. */
struct band_store *band_store_attach(int fd);
void band_store_detach(struct band_store *s); /* NULL is fine */

/* Looks for a band, or makes room for it. *rows is set if it is READY or OURS; then
 * call release, or publish. Any thread may call it. */
enum band_found band_store_find(struct band_store *s, const struct band_id *id,
                                unsigned char **rows, uint32_t *slot);
void band_store_release(struct band_store *s, uint32_t slot);
/* Makes a slot that was OURS ready; or, if writing it has failed, free. */
void band_store_publish(struct band_store *s, uint32_t slot, bool ok);

#endif
