/* key_index.h - distinct 64-bit keys, each with a number: that of the keys before
 * it. */
#ifndef RAYTRAIN_PREPROCESS_KEY_INDEX_H
#define RAYTRAIN_PREPROCESS_KEY_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Zeroed: empty. */
struct key_index {
    uint64_t *keys; /* by number */
    size_t n, room;
    int32_t *slots; /* a power of two of them: numbers, -1: empty */
    size_t n_slots;
};

/* Its number, which is new if it was not there: RAYTRAIN_ENOMEM, RAYTRAIN_EFIT. */
int key_index_add(struct key_index *index, uint64_t key, int32_t *number,
                  struct error *err);
/* -1: it is not there. */
int32_t key_index_find(const struct key_index *index, uint64_t key);
void key_index_clear(struct key_index *index);

#endif
