/*
 * page_writers.h - which rank writes a page of a file that ranks of several nodes fill.
 *
 * Shared storage is often cached on every node, and a cache writes back whole pages: of
 * a page that two nodes have written, one node's bytes are lost. So a page of this map
 * (not less than a page of any cache) is written by ranks of one node alone. Where all
 * of its bytes come from one node, each rank writes its own; where they come from
 * several, one of the ranks that have some is chosen to write them all. All ranks make
 * the same map. Pure.
 */
#ifndef RAYTRAIN_CHECKPOINT_PAGE_WRITERS_H
#define RAYTRAIN_CHECKPOINT_PAGE_WRITERS_H

#include "checkpoint/chunk_walk.h"
#include "comm/node_map.h"

#define PAGE_BYTES_MIN 65536u      /* the largest page of a machine's memory */
#define PAGE_BYTES_MAX (16u << 20) /* of the file systems' blocks, as many as count */

struct page_writers {
    const struct node_map *nodes;
    uint64_t page_bytes, n_pages;
    int32_t *state; /* of each page; page_writers.c */
};

/* The size of a page for a file that so many ranks fill: that of the file system's
 * blocks, unless the ranks' shares are so small that much of them would move. Larger
 * ones keep the map of a very long file small. */
uint64_t page_bytes_choose(uint64_t file_bytes, int n_ranks, uint64_t block_bytes);

/* A map of a file that has no bytes yet; -1 without memory. `nodes` is borrowed. */
int page_writers_init(struct page_writers *w, uint64_t file_bytes, uint64_t page_bytes,
                      const struct node_map *nodes);
void page_writers_clear(struct page_writers *w);

/* The rank has bytes in this page, or all of this chunk. */
void page_writers_add(struct page_writers *w, uint64_t page, int rank);
void page_writers_add_chunk(struct page_writers *w, const struct chunk *chunk,
                            int rank);
/* Afterwards: the rank writes bytes [start, end), and so all of a page that it would
 * share with another node. */
void page_writers_claim(struct page_writers *w, uint64_t start, uint64_t end, int rank);

/* The rank that writes all of the page; -1: each rank its own bytes. */
int page_writers_of(const struct page_writers *w, uint64_t page);

/* What of a chunk lies in one page after the other: call it with *piece = *chunk and
 * piece->to = piece->from first. A chunk's bytes in one page are neighbours in its
 * stream. False when there is no more. */
bool chunk_next_piece(const struct chunk *chunk, uint64_t page_bytes,
                      struct chunk *piece, uint64_t *page);

#endif
