/*
 * comm.h - the few collectives that the library itself needs, as an interface.
 *
 * Implementations: comm_self.c (one process; always available, used by unit tests) and
 * mpi/mpi_comm.c. Every operation is collective over the communicator, yields the core
 * while it waits, and takes any size (an implementation splits what its library cannot
 * count).
 *
 * Order: each subsystem that communicates has its own duplicate, so that the order of
 * collectives on a communicator is the same on every rank by construction. A comm is
 * used by one thread at a time.
 */
#ifndef RAYTRAIN_COMM_COMM_H
#define RAYTRAIN_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum comm_type {
    COMM_FLOAT32,
    COMM_FLOAT64,
    COMM_INT64,
    COMM_STAT /* struct comm_stat, only with COMM_SUM: sum, min and max at once */
};

/* The mean is for FLOAT32 and FLOAT64 only. */
enum comm_op { COMM_SUM, COMM_MIN, COMM_MAX, COMM_MEAN };

/* NaN: sum becomes NaN; min and max ignore it unless all are NaN. */
struct comm_stat {
    double sum, min, max;
};

/* Where memory is located. */
enum comm_place { COMM_HOST, COMM_CUDA, COMM_HIP, COMM_PLACES };

#define COMM_CALLS         32
#define COMM_MATCHED_BYTES ((size_t)16 * 1024)

struct comm;
struct comm_request;

/* Memory of the same layout on every rank, in parts: the bytes from cuts[r] up to
 * cuts[r + 1] are rank r's part. */
struct comm_parts {
    void *data;
    const size_t *cuts; /* size + 1, never less than the one before */
};

/* The location of memory of alloc. */
struct comm_file {
    int fd;
    size_t offset; /* offset in the file */
    size_t
        stride; /* to the same place of the next rank's, if the file has the memory of
                    * all ranks; 0: it has not */
};

struct comm_ops {
    const char *name;
    /* Combine buf[0..n) in place; deterministic for the same layout of ranks. */
    int (*allreduce)(struct comm *c, void *buf, size_t n, enum comm_type type,
                     enum comm_op op, struct error *err);
    /* Start one, in memory at `place`; *req is NULL again once test has set *done. buf
     * is the library's until then. Several may be pending; they complete in any order.
     * RAYTRAIN_ENOTSUP, by comm_check_place(), if this communicator does not reach the
     * place. The buffers of all other operations are in host memory, but for bcast and
     * allgather. */
    int (*iallreduce)(struct comm *c, enum comm_place place, void *buf, size_t n,
                      enum comm_type type, enum comm_op op, struct comm_request **req,
                      struct error *err);
    /* Like iallreduce, but only for this rank's part, from element cuts[rank] up to
     * cuts[rank + 1]: the other elements are undefined then. cuts has size + 1 numbers,
     * the same on every rank, from 0 on, and stays unchanged until test has set *done. */
    int (*ireduce_parts)(struct comm *c, enum comm_place place, void *buf,
                         const size_t *cuts, enum comm_type type, enum comm_op op,
                         struct comm_request **req, struct error *err);
    int (*test)(struct comm *c, struct comm_request **req, bool *done,
                struct error *err);
    /*
     * An allreduce by ranks that may have made different calls of raytrain: `call`,
     * below COMM_CALLS, is that of this rank. If all have made the same, with as many
     * elements of one type and one op, *same is true on every rank and buf is combined;
     * else it is false on every rank, and the contents of buf are undefined. At least
     * one byte and at most COMM_MATCHED_BYTES.
     */
    int (*allreduce_matched)(struct comm *c, int call, void *buf, size_t n,
                             enum comm_type type, enum comm_op op, bool *same,
                             struct error *err);
    /*
     * Memory at `place`, which is checked as by iallreduce, for n_bytes on each rank
     * (the same number; RAYTRAIN_EINVAL if it is not): zeros, aligned to 64 bytes,
     * owned by the communicator until free. Data in it, at the same place on every
     * rank, are reduced in place and without messages if the ranks share a node.
     */
    int (*alloc)(struct comm *c, enum comm_place place, size_t n_bytes, void **data,
                 struct error *err);
    /* For another process of this node to map: the descriptor of the file in which
     * memory of alloc lies, and where `data` is in it, at a multiple of 64. The file is
     * the communicator's, and also has other memory. RAYTRAIN_ENOTSUP if it is plain
     * memory. Not a collective. */
    int (*memory_file)(struct comm *c, const void *data, struct comm_file *file,
                       struct error *err);
    /* Do bcast and allgather accept memory at `place`, on this rank? NULL: only
     * COMM_HOST. Not a collective: other ranks may have their memory elsewhere. */
    bool (*reaches)(enum comm_place place);
    int (*bcast)(struct comm *c, void *buf, size_t n_bytes, int root,
                 struct error *err);
    /* recv holds size x n_bytes. */
    int (*allgather)(struct comm *c, const void *send, size_t n_bytes, void *recv,
                     struct error *err);
    /* Copy every rank's part of each of parts[0..n) to all ranks, in place. In memory of
     * alloc, all of them in one, ranks of a node do so without messages; no reduction
     * may be pending there. */
    int (*allgather_parts)(struct comm *c, const struct comm_parts parts[], size_t n,
                           struct error *err);
    /* Gather data of different sizes on root. There, *recv (one malloc; the caller
     * frees it) holds all ranks' bytes in rank order, and sizes[0..size) are their
     * numbers of bytes; on other ranks *recv is NULL. */
    int (*gatherv)(struct comm *c, const void *send, size_t n_bytes, void **recv,
                   size_t *sizes, int root, struct error *err);
    /*
     * Not a collective, but a step of one: send n_send bytes to rank `to` and receive
     * n_recv from rank `from`; -1 for either: none. The other ends make the matching
     * calls, with the same sizes; messages between two ranks keep their order.
     */
    int (*sendrecv)(struct comm *c, const void *send, size_t n_send, int to, void *recv,
                    size_t n_recv, int from, struct error *err);
    int (*barrier)(struct comm *c, struct error *err);
    /* A duplicate, and the ranks of this node as a communicator of their own. */
    int (*dup)(struct comm *c, struct comm **out, struct error *err);
    int (*split_node)(struct comm *c, struct comm **out, struct error *err);
    /* The ranks that pass true, in their order, as a communicator of their own; *out is
     * NULL on the others. */
    int (*split)(struct comm *c, bool in, struct comm **out, struct error *err);
    void (*free)(struct comm *c);
};

struct comm {
    const struct comm_ops *ops;
    int rank, size;
    /* Called by a collective that has waited for a second, about once a second (NULL:
     * not called). It must not communicate on c. Duplicates do not inherit it. */
    void (*waiting)(void *arg, double waited_s);
    void *waiting_arg;
    /* A wait polls this often before it first yields its core; duplicates inherit it. 0
     * if ranks outnumber cores: the awaited rank may be waiting for this core. */
    unsigned polls;
    /* Waits sleep between polls, from 50 microseconds up to a millisecond: for a thread
     * without urgency, beside one that needs the core. */
    bool naps;
};

/* Do bcast and allgather accept memory at `place`? */
bool comm_reaches(const struct comm *c, enum comm_place place);

/* For operations that accept only host memory: refuse any other place. */
int comm_check_place(const struct comm *c, enum comm_place place, struct error *err);

/* Bytes of one element; 0 for an unknown type. */
size_t comm_type_size(enum comm_type type);

/* The communicator of one process: it copies, and returns. Fails only for lack of
 * memory and for invalid arguments. */
struct comm *comm_self_create(struct error *err);
void comm_free(struct comm *c); /* NULL is fine */

/* COLLECTIVE: send n bytes of rank `root` to all; malloc'ed on the others. */
int comm_bcast_alloc(struct comm *c, void **data, size_t n, int root,
                     struct error *err);

/* COLLECTIVE: *mine, malloc'ed, becomes this rank's row of `rows`, which rank 0 has:
 * one of row_bytes for each rank. The rows travel down a tree: a rank receives once,
 * and rank 0 sends log2(size) times. */
int comm_scatter(struct comm *c, const void *rows, size_t row_bytes, void **mine,
                 struct error *err);

/* Agree over all ranks on an outcome, 0 or -1: 0 if every rank passed 0. Else -1 on
 * every rank, with the error of the lowest rank that failed, prefixed with its number
 * on the other ranks. */
int comm_agree(struct comm *c, int rc, struct error *err);

#endif
