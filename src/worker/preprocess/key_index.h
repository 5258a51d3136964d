/* key_index.h - a set of 64-bit keys, which are numbered from 0 in the order in which
 * they were added. */
#ifndef RAYTRAIN_PREPROCESS_KEY_INDEX_H
#define RAYTRAIN_PREPROCESS_KEY_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Zeroed, it is empty. */
struct key_index {
    uint64_t *keys; /* by number */
    size_t n, room;
    int32_t *slots; /* a power of two of them, with the number of a key; -1: empty */
    size_t n_slots;
};

/* Adds a key unless it is in the index; *number is its number. RAYTRAIN_ENOMEM, or
 * RAYTRAIN_EFIT if there are too many keys. */
int key_index_add(struct key_index *index, uint64_t key, int32_t *number,
                  struct error *err);
/* The number of a key; -1: it is not in the index. */
int32_t key_index_find(const struct key_index *index, uint64_t key);
void key_index_clear(struct key_index *index);

#endif
