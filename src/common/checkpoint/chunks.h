/*
 * chunks.h - the chunks of a checkpoint: visit all of them in the order of the table of
 * hashes, with their places in the file and the ranks that write them; read and write
 * one; batches of them for messages.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHUNKS_H
#define RAYTRAIN_CHECKPOINT_CHUNKS_H

#include "checkpoint/checkpoint_impl.h"

struct chunk {
    uint64_t index; /* its row in the table of hashes */
    uint64_t part;
    const struct tensor_entry *tensor;
    struct slab_stream stream; /* of its part */
    uint64_t from, to;         /* bytes of the part's stream */
    int owner; /* the rank that writes it; -1 in a walk without owners */
};

struct chunk_walk {
    const struct tensor_entry *tensors;
    const struct part *parts;
    uint64_t n_parts, chunk_bytes;
    const int *owners; /* of each part; -1: replicated, shared evenly */
    int size;          /* ranks that write */
    /* Where the walk is: */
    uint64_t part, from;
    uint64_t done, total; /* replicated bytes */
    struct slab_stream stream;
};

/* The chunks of a plan for `size` ranks, with owners. */
void chunk_walk_plan(struct chunk_walk *walk, const raytrain_checkpoint *ck,
                     const struct plan *plan, int size);
/* The chunks of a restored checkpoint. */
void chunk_walk_restored(struct chunk_walk *walk, const raytrain_checkpoint *ck);
/* False after the last one. */
bool chunk_walk_next(struct chunk_walk *walk, struct chunk *chunk);
/* The chunk of a part that begins at `from`, wherever the walk is; without its owner.
 */
void chunk_walk_at(const struct chunk_walk *walk, uint64_t part, uint64_t from,
                   struct chunk *chunk);

/* Write a chunk, dense in memory, to its places in the file. */
int chunk_place(struct slab_writer *writer, const struct chunk *chunk,
                const void *data);
/* Read it from a file; -1 and errno. */
int chunk_read(int fd, const struct chunk *chunk, void *data);

/*
 * A batch of chunks travels as one message: consecutive chunks with one key, up to
 * BATCH_BYTES or one chunk more.
 */
#define BATCH_BYTES  (3u << 20)
#define BATCH_CHUNKS 512

struct batch {
    int key;
    size_t n;
    uint64_t bytes;
    struct chunk chunks[BATCH_CHUNKS];
};

struct batch_walk {
    struct chunk_walk chunks;
    int (*key)(void *arg, const struct chunk *chunk); /* -1: skip it */
    void *arg;
    struct chunk ahead; /* already taken from the walk, for the next batch */
    bool has_ahead;
};

/* The next batch; false after the last. */
bool batch_next(struct batch_walk *walk, struct batch *batch);
/* Memory that holds any batch of this walk. */
uint64_t batch_room(const struct batch_walk *walk);
/* Write all chunks of a batch, dense in memory, to their places, and flush. */
int batch_place(struct slab_writer *writer, const struct batch *batch,
                const void *data);

#endif
