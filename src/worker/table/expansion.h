/*
 * expansion.h - rows that have no fixed place in their file are expanded once on each
 * node, into an anonymous file in memory (memfd). It has no name, so nothing is left
 * behind however the processes end, and it is sealed when complete: nothing can change
 * or shrink it, so it may be mapped.
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
 * Memory for `size` bytes, all of it allocated now, so that filling it cannot fail.
 * RAYTRAIN_EFIT, with the numbers, if the node does not have that much.
 */
int expansion_begin(struct expansion *e, uint64_t size, const char *path,
                    struct error *err);
/* Complete: seal it and make it a source of the table. Releases e, also on failure. */
int expansion_end(struct expansion *e, struct table *t, size_t *index,
                  struct error *err);
/* The same in three steps, for rows that are changed later: make it a source that is
 * not sealed yet; map it again; seal it. The descriptor is the source's. The first and
 * the last release e, also on failure. */
int expansion_set_aside(struct expansion *e, struct table *t, size_t *index,
                        struct error *err);
int expansion_take_up(struct expansion *e, const struct source *s, struct error *err);
int expansion_seal(struct expansion *e, struct error *err);
void expansion_abandon(struct expansion *e);

#endif
