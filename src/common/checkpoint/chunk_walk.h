/*
 * chunk_walk.h - all chunks of a checkpoint, one after the other, in the order of the
 * table of hashes: where each lies in the file, and which rank's data it is.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHUNK_WALK_H
#define RAYTRAIN_CHECKPOINT_CHUNK_WALK_H

#include "checkpoint/checkpoint_impl.h"

struct chunk {
    uint64_t index; /* its row in the table of hashes */
    uint64_t part;
    const struct tensor_entry *tensor;
    struct slab_runs runs; /* of its part */
    uint64_t from, to;     /* bytes of the part's stream */
    int owner;             /* -1 in a walk without owners */
};

struct chunk_walk {
    const struct tensor_entry *tensors;
    const struct part *parts;
    uint64_t n_parts, chunk_bytes;
    const int *owners; /* a part's rank; -1: replicated, shared out evenly */
    int size;          /* ranks that wrote it */
    /* Where the walk is: */
    uint64_t part, from;
    uint64_t done, total; /* replicated bytes */
    struct slab_runs runs;
};

/* The chunks of what a plan says, with owners: plan->ranks, of `size` ranks. */
void chunk_walk_plan(struct chunk_walk *walk, const raytrain_checkpoint *ck,
                     const struct plan *plan, int size);
/* The chunks of a restored checkpoint. */
void chunk_walk_restored(struct chunk_walk *walk, const raytrain_checkpoint *ck);
/* False behind the last one. */
bool chunk_walk_next(struct chunk_walk *walk, struct chunk *chunk);
/* The chunk of a part that begins at `from`, wherever the walk is; without its owner.
 */
void chunk_walk_at(const struct chunk_walk *walk, uint64_t part, uint64_t from,
                   struct chunk *chunk);

/* Write a chunk's bytes, dense in memory, to their places. */
int chunk_place(struct slab_writer *writer, const struct chunk *chunk,
                const void *data);
/* Read them from a file; -1 and errno. */
int chunk_read(int fd, const struct chunk *chunk, void *data);

/*
 * Chunks that travel as one message: neighbours of one key, up to BLOCK_FULL bytes or
 * one chunk more.
 */
#define BLOCK_FULL   (3u << 20)
#define BLOCK_CHUNKS 512

struct block {
    int key;
    size_t n;
    uint64_t bytes;
    struct chunk chunks[BLOCK_CHUNKS];
};

struct block_walk {
    struct chunk_walk chunks;
    int (*key)(void *arg, const struct chunk *chunk); /* -1: not this one */
    void *arg;
    struct chunk ahead; /* seen, but of the next block */
    bool has_ahead;
};

/* The next block; false where there is none. */
bool block_next(struct block_walk *walk, struct block *block);
/* Memory that any block of this walk fits in. */
uint64_t block_room(const struct block_walk *walk);
/* All chunks of a block, dense in memory, to their places, and written. */
int block_place(struct slab_writer *writer, const struct block *block,
                const void *data);

#endif
