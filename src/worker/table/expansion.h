/*
 * expansion.h - rows without a fixed place in their file are expanded once on each
 * node, into an anonymous file in memory (memfd). It has no name, so that it disappears
 * with its processes. It is sealed when it is complete: it cannot change or shrink, so
 * it may be mapped.
 */
#ifndef RAYTRAIN_TABLE_EXPANSION_H
#define RAYTRAIN_TABLE_EXPANSION_H

#include "table/table.h"

struct expansion {
    int fd;
    unsigned char *bytes; /* to be filled; `size` bytes */
    uint64_t size;
    const char *path; /* of the expanded file; the caller keeps it */
};

/*
 * Allocates `size` bytes of memory at once, so that filling it cannot fail.
 * RAYTRAIN_EFIT, with the numbers, if the node does not have that much.
 */
int expansion_begin(struct expansion *e, uint64_t size, const char *path,
                    struct error *err);
/* Seals the complete memory, and makes it a source of the table. Releases e, also on
 * failure. */
int expansion_end(struct expansion *e, struct table *t, size_t *index,
                  struct error *err);
/* The same in three steps, for rows that are changed later: makes it a source that is
 * not sealed yet; maps it again; seals it. The source owns the descriptor. The first
 * and the last step release e, also on failure. */
int expansion_set_aside(struct expansion *e, struct table *t, size_t *index,
                        struct error *err);
int expansion_take_up(struct expansion *e, const struct source *s, struct error *err);
int expansion_seal(struct expansion *e, struct error *err);
void expansion_abandon(struct expansion *e);

#endif
