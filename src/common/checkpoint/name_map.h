/*
 * name_map.h - the names of a checkpoint: the tensor of each name, and the names that
 * are groups, because other names lie below them. Keeps pointers to the names, not
 * copies.
 */
#ifndef RAYTRAIN_CHECKPOINT_NAME_MAP_H
#define RAYTRAIN_CHECKPOINT_NAME_MAP_H

#include <stddef.h>
#include <stdint.h>

#define NAME_MAP_NONE  (-1) /* no such name */
#define NAME_MAP_GROUP (-2) /* a group */

struct name_slot {
    const char *name; /* NULL: a free slot */
    size_t length;
    int64_t value;
};

/* All zeros: empty. */
struct name_map {
    struct name_slot *slots;
    size_t n_slots, n;
};

/* An index given by name_map_add, or one of the above. */
int64_t name_map_find(const struct name_map *map, const char *name, size_t length);
/* Add a name and the groups that it lies in. 0; -1 without memory; 1 if the name or one
 * of its groups is already taken as the other kind (*clash is the length of that part
 * of the name). */
int name_map_add(struct name_map *map, const char *name, int64_t index, size_t *clash);
void name_map_clear(struct name_map *map);

#endif
