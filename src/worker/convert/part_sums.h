/*
 * part_sums.h - checksums of parts (part.h). A rank hashes what it writes in pieces of
 * adjacent bytes; index.json has the place and the XXH3 of each. A later attempt uses
 * the rows of a part only if no piece has changed.
 */
#ifndef RAYTRAIN_CONVERT_PART_SUMS_H
#define RAYTRAIN_CONVERT_PART_SUMS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/comm.h"
#include "text/source.h"
#include "util/error.h"

struct part_piece {
    uint64_t part, offset, bytes, hash;
};

struct part_stream;

/* The checksums of what one rank has written of its part. */
struct part_sums {
    uint64_t part; /* its number among the parts */
    struct part_piece *pieces;
    size_t n, room;
    struct part_stream *streams; /* each with a piece that may grow */
    size_t n_streams;
};

#define PART_SUMS_INIT                                                                 \
    {                                                                                  \
        .pieces = NULL                                                                 \
    }

/* Adds bytes that this rank writes at `offset`. Streams are numbered from 0; bytes that
 * follow the last ones of their stream extend its piece, up to a limit. */
int part_sums_add(struct part_sums *s, size_t stream, uint64_t offset, const void *data,
                  size_t n, struct error *err);
/* Completes all pieces. */
int part_sums_end(struct part_sums *s, struct error *err);
void part_sums_clear(struct part_sums *s);

/* COLLECTIVE, with the same outcome on every rank: on rank 0 each part gets its pieces
 * as "sums". `parts` are in the order of their numbers. */
int part_sums_gather(const struct part_sums *own, struct comm *all, json_t *parts,
                     struct error *err);

/*
 * Reads this rank's share of the pieces of all parts, and compares them.
 * RAYTRAIN_ECORRUPT, with the part and the place, if a piece has changed. The watch is
 * asked before each block.
 */
int part_sums_verify(const char *directory, const json_t *parts, const struct comm *all,
                     const struct text_watch *watch, struct error *err);

#endif
