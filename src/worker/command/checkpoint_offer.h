/*
 * checkpoint_offer.h - what a client offers as its checkpoint, in a request that is not
 * trusted: a dict, as a list of tensors and strings, or a directory, as a list of files.
 *
 *   {"kind": "dict", "structure": TEXT, "metadata": TEXT, "entries": [ENTRY, ...]}
 *   {"kind": "directory", "metadata": TEXT, "directories": [NAME, ...],
 *    "entries": [FILE, ...]}
 *
 *   ENTRY  [NAME, DTYPE, [SHAPE...]]             a tensor
 *          [NAME, DTYPE, [SHAPE...], "own"]      the same; on other ranks it may be of
 *                                                another type and shape
 *          [NAME, DTYPE, [SHAPE...], [START...], [COUNT...]]   a slab of one: see Shard
 *          [NAME, "string", TEXT]
 *   FILE   [NAME, SIZE] or [NAME, SIZE, HEX]     HEX: the name, if it is no valid NAME
 *
 * "metadata" may be missing. The bytes follow one another in a buffer, in the order of
 * the entries, each at a multiple of OFFER_ALIGNMENT; client and worker both work this
 * out.
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
    const char *name;       /* this and all text: the JSON's */
    const char *text;       /* of a string; NULL: it is a tensor or a file */
    raytrain_tensor tensor; /* without data */
    bool own, sharded;
    raytrain_slab slab; /* of a sharded tensor */
    uint64_t bytes;     /* that this rank has of it */
    uint64_t offset;    /* in the buffer, once offer_lay_out() has taken it in */
};

struct offer {
    enum offer_kind kind;
    const char *structure, *metadata; /* NULL: none */
    struct offer_entry *entries;
    size_t n_entries;
};

/* NULL: no offer. On failure (RAYTRAIN_EINVAL) there is nothing to clear. */
int offer_parse(const json_t *json, struct offer *offer, struct error *err);
void offer_clear(struct offer *offer);

/* Give the entries their offsets; `sharded`: only those of which ranks have slabs. */
int offer_lay_out(struct offer *offer, bool sharded, uint64_t *bytes,
                  struct error *err);

/* The entry after e that all ranks must offer alike, or the first one if e is NULL; NULL
 * after the last. */
struct offer_entry *offer_common_next(const struct offer *offer,
                                      const struct offer_entry *e);
/* Two ranks offer dicts. RAYTRAIN_EINVAL says what differs. */
int offer_compare(const struct offer *a, int rank_a, const struct offer *b, int rank_b,
                  struct error *err);

#endif
