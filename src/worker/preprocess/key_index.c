/* key_index.c - an open-addressing hash table from keys to numbers. */
#include "preprocess/key_index.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64

static size_t slot_of(const struct key_index *index, uint64_t key)
{
    uint64_t h = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(h >> 32) & (index->n_slots - 1);
}

/* The slot of the key, or the empty one where it would be. */
static size_t key_slot_find(const struct key_index *index, uint64_t key)
{
    size_t at = slot_of(index, key);

    while (index->slots[at] >= 0 && index->keys[index->slots[at]] != key)
        at = (at + 1) & (index->n_slots - 1);
    return at;
}

static int key_index_grow(struct key_index *index, struct error *err)
{
    size_t n_slots = index->n_slots ? 2 * index->n_slots : SLOTS_MIN;
    size_t room = n_slots / 2;
    uint64_t *keys = reallocarray(index->keys, room, sizeof *keys);
    int32_t *slots = malloc(n_slots * sizeof *slots);

    if (keys)
        index->keys = keys;
    if (!keys || !slots) {
        free(slots);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for categories");
    }
    free(index->slots);
    memset(slots, 0xff, n_slots * sizeof *slots);
    index->slots = slots;
    index->n_slots = n_slots;
    index->room = room;
    for (size_t i = 0; i < index->n; i++)
        slots[key_slot_find(index, keys[i])] = (int32_t)i;
    return 0;
}

int key_index_add(struct key_index *index, uint64_t key, int32_t *number,
                  struct error *err)
{
    *number = key_index_find(index, key);
    if (*number >= 0)
        return 0;
    if (index->n >= INT32_MAX / 2)
        return error_set(err, RAYTRAIN_EFIT,
                         "there are more different values than can be counted: %d",
                         INT32_MAX / 2);
    if (index->n == index->room && key_index_grow(index, err) < 0)
        return -1;
    *number = (int32_t)index->n++;
    index->keys[*number] = key;
    index->slots[key_slot_find(index, key)] = *number;
    return 0;
}

int32_t key_index_find(const struct key_index *index, uint64_t key)
{
    return index->n > 0 ? index->slots[key_slot_find(index, key)] : -1;
}

void key_index_clear(struct key_index *index)
{
    free(index->keys);
    free(index->slots);
    *index = (struct key_index){.keys = NULL};
}
