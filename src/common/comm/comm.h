/*
 * comm.h - the few collectives that the library itself needs, behind one seam.
 *
 * Implementations: comm_self.c (one process, always there, used by unit tests) and
 * mpi/mpi_comm.c. Every operation is collective over the communicator, waits by
 * yielding, and takes any size (an implementation splits what its library cannot
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
    COMM_STAT /* struct comm_stat, with COMM_SUM only: sum, min, max at once */
};

/* The mean is of FLOAT32 and FLOAT64 only. */
enum comm_op { COMM_SUM, COMM_MIN, COMM_MAX, COMM_MEAN };

/* NaN: sum becomes NaN; min and max ignore it unless all are NaN. */
struct comm_stat {
    double sum, min, max;
};

#define COMM_CALLS      32
#define COMM_MEET_BYTES ((size_t)16 * 1024)

struct comm;
struct comm_request;

struct comm_ops {
    const char *name;
    /* Combine buf[0..n) in place; deterministic for the same layout of ranks. */
    int (*allreduce)(struct comm *c, void *buf, size_t n, enum comm_type type,
                     enum comm_op op, struct error *err);
    /* Start one; *req is NULL again once test has said done. buf is the library's until
     * then. Several may be pending; they complete in any order. */
    int (*iallreduce)(struct comm *c, void *buf, size_t n, enum comm_type type,
                      enum comm_op op, struct comm_request **req, struct error *err);
    int (*test)(struct comm *c, struct comm_request **req, bool *done,
                struct error *err);
    /*
     * An allreduce by ranks of which it is not known that they have come for the same:
     * `call`, below COMM_CALLS, says what this one has come for. If all have, with as
     * many elements of one type and one op, *same is true on every rank and buf is
     * combined; else it is false on every rank, and nothing that is in buf counts. At
     * least one byte and at most COMM_MEET_BYTES.
     */
    int (*meet)(struct comm *c, int call, void *buf, size_t n, enum comm_type type,
                enum comm_op op, bool *same, struct error *err);
    /*
     * Memory for n_bytes on each rank (the same number; RAYTRAIN_EINVAL where it is
     * not): zeros, aligned to 64 bytes, owned by the communicator until free. What lies
     * in it, at the same place on every rank, is reduced in place and without messages
     * where the ranks share a node.
     */
    int (*alloc)(struct comm *c, size_t n_bytes, void **data, struct error *err);
    int (*bcast)(struct comm *c, void *buf, size_t n_bytes, int root,
                 struct error *err);
    /* recv holds size x n_bytes. */
    int (*allgather)(struct comm *c, const void *send, size_t n_bytes, void *recv,
                     struct error *err);
    /* Differing sizes to root: there *recv (one malloc, to be freed) holds all ranks'
     * bytes in rank order and sizes[0..size) says how many each sent; elsewhere NULL.
     */
    int (*gatherv)(struct comm *c, const void *send, size_t n_bytes, void **recv,
                   size_t *sizes, int root, struct error *err);
    /*
     * Not a collective, but a step of one: send n_send bytes to rank `to` and receive
     * n_recv from rank `from`, either -1 for nobody. The other ends do the same at
     * their side, with the same sizes; between two ranks messages keep their order.
     */
    int (*sendrecv)(struct comm *c, const void *send, size_t n_send, int to, void *recv,
                    size_t n_recv, int from, struct error *err);
    int (*barrier)(struct comm *c, struct error *err);
    /* A duplicate, and the ranks of this node as a communicator of their own. */
    int (*dup)(struct comm *c, struct comm **out, struct error *err);
    int (*split_node)(struct comm *c, struct comm **out, struct error *err);
    void (*free)(struct comm *c);
};

struct comm {
    const struct comm_ops *ops;
    int rank, size;
    /* Called from a waiting collective about once a second once it has waited for one
     * (NULL: not called). It must not communicate on c. Inherited by no duplicate. */
    void (*waiting)(void *arg, double waited_s);
    void *waiting_arg;
    /* A wait looks this often before it first gives its core away; for its duplicates
     * too. 0 where ranks outnumber cores: the one that is waited for may be waiting for
     * this core. */
    unsigned polls;
    /* A wait sleeps between looks, from 50 microseconds up to a millisecond: for a
     * thread that is in no hurry, beside one that wants the core. */
    bool naps;
};

/* Bytes of one element; 0 for an unknown type. */
size_t comm_type_size(enum comm_type type);

/* One process: copies, and returns. Never fails but for memory and bad arguments. */
struct comm *comm_self_create(struct error *err);
void comm_free(struct comm *c); /* NULL is fine */

/* A 0/-1 outcome agreed over all ranks: 0 if every rank passed 0. Else -1 with the
 * error of the lowest failing rank on every rank (its own rank prefixed where it is
 * another's). */
int comm_agree(struct comm *c, int rc, struct error *err);

#endif
