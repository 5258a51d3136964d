/*
 * expand.h - rows that have no fixed place in their file are expanded once a node, into
 * an anonymous file in memory (memfd). It has no name, so nothing is left whatever
 * dies, and it is sealed when complete: nobody can change or shrink it, so it may be
 * mapped.
 */
#ifndef RAYTRAIN_DATA_EXPAND_H
#define RAYTRAIN_DATA_EXPAND_H

#include "data/table.h"

struct expansion {
    int fd;
    unsigned char *bytes; /* to be filled; size of them */
    uint64_t size;
    const char *path; /* of what is expanded; the caller keeps it */
};

/*
 * Memory for `size` bytes, all of it granted now (RAYTRAIN_EFIT, with the numbers,
 * where the node has not that much), so that filling it cannot fail.
 */
int expansion_begin(struct expansion *e, uint64_t size, const char *path,
                    struct error *err);
/* Complete: seal it and make it a source of the table. Releases e, also on failure. */
int expansion_end(struct expansion *e, struct table *t, size_t *index,
                  struct error *err);
void expansion_abandon(struct expansion *e);

#endif
