/*
 * shared_file.h - write the chunks of a checkpoint into one file by ranks of several
 * nodes at once, without two nodes writing to one page of it.
 *
 * Every rank has some chunks. It writes them, except for pages that another rank
 * writes: it sends those bytes to that rank at the end. Ranks of one node share its
 * cache, so nothing is sent between them.
 *
 *   shared_file_begin()    COLLECTIVE, once rank 0 has created the file
 *   shared_file_needs()    on rank 0, if the other ranks do not know all chunks
 *   shared_file_write()    for each of this rank's chunks
 *   shared_file_finish()   COLLECTIVE: send and write the rest
 *
 * In any thread.
 */
#ifndef RAYTRAIN_CHECKPOINT_SHARED_FILE_H
#define RAYTRAIN_CHECKPOINT_SHARED_FILE_H

#include "checkpoint/chunks.h"
#include "comm/node_map.h"

struct part_needs;

/* ---- The map of pages ---- */

/*
 * Shared storage is often cached on every node, and a cache writes back whole pages: if
 * two nodes write to one page, the bytes of one of them are lost. So each page of the
 * map, which is no smaller than a page of any cache, is written by ranks of one node
 * alone. If all of its bytes come from one node, each rank writes its own; if they come
 * from several, one of the ranks that have some is chosen to write them all. Rank 0
 * makes the map, and all ranks get it. Pure.
 */

#define PAGE_BYTES_MIN 65536u      /* the largest page of a machine's memory */
#define PAGE_BYTES_MAX (16u << 20) /* larger file-system blocks do not count */

struct page_writers {
    const struct node_map *nodes;
    uint64_t page_bytes, n_pages;
    int32_t *state; /* of each page; shared_file.c */
};

/* The size of a page for a file that this number of ranks fill: a block of the file system,
 * unless the ranks' shares are so small that much of them would have to be sent. Larger
 * pages keep the map of a very long file small. */
uint64_t page_bytes_choose(uint64_t file_bytes, int n_ranks, uint64_t block_bytes);

/* A map of a file that has no bytes yet; -1 without memory. `nodes` is borrowed. */
int page_writers_init(struct page_writers *w, uint64_t file_bytes, uint64_t page_bytes,
                      const struct node_map *nodes);
void page_writers_clear(struct page_writers *w);

/* The rank has bytes in this page, or all of this chunk. */
void page_writers_add(struct page_writers *w, uint64_t page, int rank);
void page_writers_add_chunk(struct page_writers *w, const struct chunk *chunk,
                            int rank);
/* After all are added: the rank writes bytes [start, end), and with them all of each
 * page that it would share with another node. */
void page_writers_claim(struct page_writers *w, uint64_t start, uint64_t end, int rank);

/* The rank that writes all of the page; -1: each rank writes its own bytes. */
int page_writers_of(const struct page_writers *w, uint64_t page);

/* Visit the pages of a chunk: *some are its bytes in the next one, which are adjacent
 * in its stream. Start with *some = *chunk and some->to = some->from. False after the
 * last page. */
bool chunk_next_page(const struct chunk *chunk, uint64_t page_bytes, struct chunk *some,
                     uint64_t *page);

/* ---- The file ---- */

struct shared_file {
    /* The caller's: */
    struct comm *comm;
    const struct node_map *nodes;  /* NULL: all ranks are on one node */
    const raytrain_checkpoint *ck; /* with the tensors' offsets */
    const char *path;              /* for messages */
    /* Before shared_file_begin() the chunks of all ranks; after it, on ranks other than
     * 0, at least those that this rank has or needs. */
    struct chunk_walk chunks;
    int (*owner)(void *arg, const struct chunk *chunk); /* the rank that has it */
    /* Read some bytes, [from, to) of the stream, of a chunk that this rank has. */
    int (*read)(void *arg, const struct chunk *some, void *to, struct error *err);
    void *arg;
    /* Private: */
    struct page_writers pages; /* no pages: there is one node */
    struct slab_writer *writer;
};

/* Rank 0 knows the length of the file and, if possible, the size of the file system's
 * blocks. The metadata, which rank 0 writes, count, too. */
int shared_file_begin(struct shared_file *f, uint64_t file_bytes, uint64_t block_bytes,
                      struct error *err);
/* Which ranks write bytes of parts that others have? On rank 0, after begin; -1 without
 * memory. */
int shared_file_needs(const struct shared_file *f, struct part_needs *needs);
/* `fd` is for writing. A chunk's bytes must stay until the next flush. -1 and errno. */
int shared_file_open(struct shared_file *f, int fd);
int shared_file_write(struct shared_file *f, const struct chunk *chunk,
                      const void *data);
int shared_file_flush(struct shared_file *f);
/* After all ranks have written. A failure is this rank's alone: combine the codes. */
int shared_file_finish(struct shared_file *f, struct error *err);
void shared_file_clear(struct shared_file *f); /* keeps errno */

#endif
