/* name_map.c - a hash table of names and of the groups that they imply. */
#include "config.h"

#include "checkpoint/name_map.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The slot of a name, or the free slot where it belongs: there is always one. */
static struct name_slot *slot_find(struct name_slot *slots, size_t n_slots,
                                   const char *name, size_t length)
{
    size_t i = XXH3_64bits(name, length) & (n_slots - 1);

    while (slots[i].name &&
           (slots[i].length != length || memcmp(slots[i].name, name, length) != 0))
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

/* At most half of the slots are taken; their number is a power of two. */
static int map_grow(struct name_map *map)
{
    size_t n_slots = map->n_slots ? 2 * map->n_slots : 64;
    struct name_slot *slots = calloc(n_slots, sizeof *slots);

    if (!slots)
        return -1;
    for (size_t i = 0; i < map->n_slots; i++) {
        const struct name_slot *old = &map->slots[i];

        if (old->name)
            *slot_find(slots, n_slots, old->name, old->length) = *old;
    }
    free(map->slots);
    map->slots = slots;
    map->n_slots = n_slots;
    return 0;
}

static int slot_add(struct name_map *map, const char *name, size_t length,
                    int64_t value)
{
    struct name_slot *slot;

    if (2 * (map->n + 1) > map->n_slots && map_grow(map) < 0)
        return -1;
    slot = slot_find(map->slots, map->n_slots, name, length);
    if (!slot->name)
        map->n++;
    *slot = (struct name_slot){name, length, value};
    return 0;
}

int64_t name_map_find(const struct name_map *map, const char *name, size_t length)
{
    const struct name_slot *slot;

    if (map->n_slots == 0)
        return NAME_MAP_NONE;
    slot = slot_find(map->slots, map->n_slots, name, length);
    return slot->name ? slot->value : NAME_MAP_NONE;
}

int name_map_add(struct name_map *map, const char *name, int64_t index, size_t *clash)
{
    size_t length = strlen(name);

    *clash = length;
    if (name_map_find(map, name, length) != NAME_MAP_NONE)
        return 1;
    for (size_t i = 0; i < length; i++) {
        if (name[i] != '/')
            continue;
        *clash = i;
        if (name_map_find(map, name, i) >= 0)
            return 1;
    }
    for (size_t i = 0; i < length; i++)
        if (name[i] == '/' && name_map_find(map, name, i) == NAME_MAP_NONE &&
            slot_add(map, name, i, NAME_MAP_GROUP) < 0)
            return -1;
    return slot_add(map, name, length, index);
}

void name_map_clear(struct name_map *map)
{
    free(map->slots);
    *map = (struct name_map){0};
}
