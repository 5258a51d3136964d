/*
 * reducer_impl.h - inside a reducer: its buckets, and the steps of its creation.
 *
 * Tensors are grouped, in index order, into buckets of one element type. If the tensors
 * of a bucket are adjacent in memory, in the same order on every rank, it is reduced in
 * place; otherwise it is copied to a buffer and back. 16-bit floats are always copied,
 * to a buffer of float32. Tensors without memory of their own get adjacent memory of
 * the communicator, which is reduced without messages if the ranks share a node.
 *
 * In a sharded reducer the gradients that have parameters are in buckets of their own,
 * of which each rank gets the means of its part alone (shards.h); the parts of the
 * parameters follow from those of the gradients.
 */
#ifndef RAYTRAIN_SESSION_REDUCER_IMPL_H
#define RAYTRAIN_SESSION_REDUCER_IMPL_H

#include "session/gradients.h"
#include "session/reducible.h"
#include "session/session.h"
#include "session/shards.h"

struct bucket {
    size_t first, n;              /* tensors */
    size_t ready;                 /* how many of them are complete */
    const struct reducible *type; /* of all of them */
    char *data;                   /* what is reduced */
    bool copied;                  /* data is not the tensors' own memory */
    char *owned;                  /* data, if it is ours to free */
    size_t elements;
    const size_t *cuts; /* between the parts of the ranks; NULL: not sharded */
    struct comm_request *request;
    bool finished;
};

struct raytrain_reducer {
    raytrain_context *ctx;
    struct comm *comm;
    raytrain_tensor *tensors; /* n gradients, then n_params parameters */
    size_t *bucket_of;
    size_t *offsets; /* in their buckets, in elements; of the first n_params */
    bool *is_ready;
    size_t n, n_params;
    bool sharded;
    size_t *cuts;             /* of all buckets, then of all parameters */
    struct comm_parts *parts; /* of the parameters */
    struct bucket *buckets;
    size_t n_buckets, started, done;
    bool broken; /* communication has failed: nothing more is started */
};

/* -- reducer_plan.c -- */
/* Group the checked gradients into buckets. */
int reducer_plan(raytrain_reducer *r, const struct gradients *g, struct error *err);
/* COLLECTIVE: give tensors and buckets their memory, and ranks their parts. */
int reducer_place(raytrain_reducer *r, struct error *err);

/* -- reducer.c -- */
/* RAYTRAIN_ECOMM: this reducer cannot be used any longer. */
int reducer_broken_error(raytrain_reducer *r);

#endif
