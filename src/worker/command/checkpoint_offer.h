/*
 * checkpoint_offer.h - what a client offers as its checkpoint, in a request that is not
 * trusted: a dict is a list of tensors and strings, a directory a list of files.
 *
 *   {"kind": "dict", "structure": TEXT, "metadata": TEXT, "entries": [ENTRY, ...]}
 *   {"kind": "directory", "metadata": TEXT, "directories": [NAME, ...],
 *    "entries": [FILE, ...]}
 *
 *   ENTRY  [NAME, DTYPE, [SHAPE...]]             a tensor
 *          [NAME, DTYPE, [SHAPE...], "own"]      a tensor whose type and shape may
 *                                                differ on other ranks
 *          [NAME, DTYPE, [SHAPE...], [START...], [COUNT...]]   a slab of a tensor
 *          [NAME, "string", TEXT]
 *   FILE   [NAME, SIZE] or [NAME, SIZE, HEX]     HEX: the real name in hexadecimal, if
 *                                                it is not a valid NAME
 *
 * "metadata" may be missing. A buffer has the bytes of all entries in their order, each
 * at a multiple of OFFER_ALIGNMENT; client and worker both compute these places.
 */
#ifndef RAYTRAIN_COMMAND_CHECKPOINT_OFFER_H
#define RAYTRAIN_COMMAND_CHECKPOINT_OFFER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define OFFER_ALIGNMENT 64

enum offer_kind { OFFER_NONE, OFFER_DICT, OFFER_DIRECTORY };

struct offer_entry {
    const char *name;       /* this and all texts belong to the JSON */
    const char *text;       /* of a string; NULL: a tensor or a file */
    raytrain_tensor tensor; /* without data */
    bool own, sharded;
    raytrain_slab slab; /* of a sharded tensor */
    uint64_t bytes;     /* the size of this rank's part */
    uint64_t offset;    /* in the buffer; set by offer_lay_out() */
};

struct offer {
    enum offer_kind kind;
    const char *structure, *metadata; /* NULL: none */
    struct offer_entry *entries;
    size_t n_entries;
};

/* json NULL: no offer. After a failure (RAYTRAIN_EINVAL) there is nothing to clear. */
int offer_parse(const json_t *json, struct offer *offer, struct error *err);
void offer_clear(struct offer *offer);

/* Set the offsets of all entries, or only of the sharded ones; *bytes: their sum. */
int offer_lay_out(struct offer *offer, bool sharded, uint64_t *bytes,
                  struct error *err);

/* The next entry after e that must be the same on all ranks; e NULL: the first one.
 * NULL after the last one. */
struct offer_entry *offer_common_next(const struct offer *offer,
                                      const struct offer_entry *e);
/* Compare the dicts of two ranks. RAYTRAIN_EINVAL says what differs. */
int offer_compare(const struct offer *a, int rank_a, const struct offer *b, int rank_b,
                  struct error *err);

#endif
