/*
 * chunks.h - the chunks of a checkpoint: visit all of them in the order of the table of
 * hashes, with their places in the file and the ranks that write them; read and write
 * one; batches of them for messages.
 */
#ifndef RAYTRAIN_CHECKPOINT_CHUNKS_H
#define RAYTRAIN_CHECKPOINT_CHUNKS_H

#include "checkpoint/part_reader.h"

struct slab_writer;

struct chunk {
    uint64_t index; /* its row in the table of hashes */
    uint64_t part;  /* its number in the walk */
    const struct tensor_entry *tensor;
    struct slab_stream stream; /* of its part */
    uint64_t from, to;         /* bytes of the part's stream */
    uint64_t hash;             /* in a walk of a restored checkpoint */
    int owner; /* the rank that writes it; -1 in a walk without owners */
};

/* It owns no memory: before its first step it may be copied, to walk several times. */
struct chunk_walk {
    const struct tensor_entry *tensors;
    uint64_t chunk_bytes;
    /* Of a plan: */
    const struct part *parts;
    uint64_t n_parts;
    const int *owners; /* of each part; -1: replicated, shared evenly */
    int size;          /* ranks that write */
    /* Of a restored checkpoint, whose parts and hashes stay in its file: */
    struct part_reader reader;
    struct table hashes;
    /* Where the walk is: */
    uint64_t next; /* part */
    struct part part;
    struct slab_stream stream;
    uint64_t from;
    uint64_t done, total; /* replicated bytes */
    int rc;
    struct error err;
};

/* The chunks of a plan for `size` ranks, with owners. */
void chunk_walk_plan(struct chunk_walk *walk, const raytrain_checkpoint *ck,
                     const struct plan *plan, int size);
/* The chunks of a restored checkpoint. They are the same on each rank that opened the
 * same file, or the walk fails. Not after checkpoint_open(). */
void chunk_walk_restored(struct chunk_walk *walk, const raytrain_checkpoint *ck);
/* False after the last one, and if the walk fails. */
bool chunk_walk_next(struct chunk_walk *walk, struct chunk *chunk);
/* Has the walk failed? That of a plan never does. RAYTRAIN_ECORRUPT if the file has
 * changed since it was opened, RAYTRAIN_ESTORAGE. */
int chunk_walk_end(const struct chunk_walk *walk, struct error *err);

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

/* The next batch; false after the last, and if the walk fails. */
bool batch_next(struct batch_walk *walk, struct batch *batch);
/* Memory that holds any batch of this walk. */
uint64_t batch_room(const struct batch_walk *walk);
/* Write all chunks of a batch, dense in memory, to their places, and flush. */
int batch_place(struct slab_writer *writer, const struct batch *batch,
                const void *data);

/* ---- The chunks of one rank ---- */

/* Which rank writes which chunk? The owner of a part writes all of its chunks. Of the
 * bytes of all replicated tensors, each rank writes an even share, in order. These
 * functions find the chunks of one rank; a chunk_walk (chunks.h) visits those of
 * all. */

/* What one rank writes of one tensor: bytes [from, to) of its slab's stream, starting
 * with a chunk. A rank's shares are in the order of the tensors. */
struct share {
    const struct tensor_entry *tensor;
    uint64_t from, to;
    const unsigned char *data; /* of byte `from`, in the tensor or in a snapshot */
};
struct shares {
    struct share *list;
    size_t n;
    size_t n_chunks;
};
int shares_make(const raytrain_checkpoint *ck, int rank, int size,
                struct shares *shares, struct error *err);
size_t shares_snapshot_bytes(const struct shares *shares,
                             enum checkpoint_snapshot which);
/* Copy these shares to `to`; from now on they are written from there. all_stay: as
 * with checkpoint_stays(). */
int shares_snapshot(struct shares *shares, enum checkpoint_snapshot which,
                    unsigned char *to, bool all_stay,
                    const struct checkpoint_fetch *fetch, struct error *err);
/* The share that has these bytes of the tensor; NULL: none. */
const struct share *shares_find(const struct shares *shares,
                                const struct tensor_entry *tensor, uint64_t from,
                                uint64_t to);
void shares_clear(struct shares *shares);
/* The end of the chunk that begins at `from`, in a stream of this size. */
uint64_t chunk_end(uint64_t from, uint64_t bytes);

#endif
