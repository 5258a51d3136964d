/*
 * reducer_impl.h - inside a reducer: its buckets, the steps of its creation, and the
 * transports of its buckets.
 *
 * Tensors are grouped, in index order, into buckets of one element type. If the tensors
 * of a bucket are adjacent in memory, in the same order on every rank, the bucket is
 * that memory; otherwise they are copied to it one after the other, in index order.
 * 16-bit floats are copied to buckets of float32, unless the library of the GPUs
 * combines them. So a bucket has the same elements in the same order, wherever the
 * tensors are, and the means have the same bits.
 *
 * In a sharded reducer the gradients that have parameters are in buckets of their own,
 * and each rank gets the means of its part only (bucket_parts.h); the parts of the
 * parameters follow from those of the gradients.
 *
 * To add a transport of buckets between ranks: write a file that defines a `struct
 * reducer_transport`, and choose it in reducer.c. reducer_plan.c decides which tensors
 * are in a bucket, and whether they are adjacent; reducer.c decides when a bucket is
 * started and waited for.
 */
#ifndef RAYTRAIN_REDUCE_REDUCER_IMPL_H
#define RAYTRAIN_REDUCE_REDUCER_IMPL_H

#include "reduce/gradients.h"
#include "reduce/bucket_parts.h"
#include "session/reducible.h"
#include "session/session.h"

/* How long destroy waits for buckets in progress, since other ranks may be dead. */
#define ABANDON_S 2.0

struct bucket {
    size_t first, n;              /* tensors */
    size_t ready;                 /* how many of them are complete */
    const struct reducible *type; /* of all tensors */
    char *span; /* where they begin, if they are adjacent; else NULL */
    size_t elements;
    const size_t *cuts; /* between the parts of the ranks; NULL: not sharded */
    bool finished;      /* it has its means, or the GPU will have them */
    /* In host memory: */
    char *data;  /* what is reduced; NULL: nothing, or it is not in host memory */
    char *owned; /* data, if it must be freed */
    struct comm_request *request;
};

/*
 * How buckets travel between ranks. Calls are made in the same order on every rank,
 * except for start() and test(), whose order depends on time. Return codes are 0 and
 * -1. There is more than one rank, except in place_tensors() and close().
 */
struct reducer_transport {
    bool widens; /* 16-bit floats are in buckets of float32 */
    /* COLLECTIVE, when the buckets are planned: memory for tensors without any, by
     * tensors_place(). */
    int (*place_tensors)(raytrain_reducer *r, struct error *err);
    /* COLLECTIVE, when the spans are known: what buckets need. NULL: nothing. */
    int (*place_buckets)(raytrain_reducer *r, struct error *err);
    /* COLLECTIVE, when the parts of parameters are known. NULL: nothing. */
    int (*place_params)(raytrain_reducer *r, struct error *err);
    /* The caller has queued what makes a gradient complete. NULL: nothing. */
    int (*ready)(raytrain_reducer *r, struct error *err);
    /* All gradients of a bucket are complete. Buckets come in any order. NULL:
     * nothing. */
    int (*complete)(raytrain_reducer *r, struct bucket *b, struct error *err);
    /* Start to reduce a complete bucket, which has elements. Buckets come in index
     * order. *started is false if it is to be called again later. */
    int (*start)(raytrain_reducer *r, struct bucket *b, bool *started,
                 struct error *err);
    /* Advance a bucket that was started, and set b->finished. NULL: start() has
     * set it. */
    int (*test)(raytrain_reducer *r, struct bucket *b, struct error *err);
    /* All buckets are finished: order the means before what the caller queues next.
     * NULL: nothing. */
    int (*settle)(raytrain_reducer *r, struct error *err);
    /* COLLECTIVE: all ranks get all parts of the parameters. */
    int (*gather)(raytrain_reducer *r, struct error *err);
    /* Also for an incomplete reducer. `idle` is false if the MPI library may still use
     * the memory of buckets, since other ranks do not respond. Returns false if that
     * holds afterwards, for any reason: then the memory of the communicator is left
     * alone, too. */
    bool (*close)(raytrain_reducer *r, bool idle);
};

extern const struct reducer_transport reducer_host, reducer_staged, reducer_group;

struct raytrain_reducer {
    raytrain_context *ctx;
    const struct reducer_transport *transport; /* NULL: not chosen yet */
    struct comm *comm;
    int device, device_id;    /* of all tensors */
    raytrain_tensor *tensors; /* n gradients, then n_params parameters */
    size_t *bucket_of;
    size_t *offsets;          /* in their buckets, in elements; of the first n_params */
    bool *is_ready, *is_ours; /* is_ours: the tensor has memory of the reducer */
    size_t n, n_params;
    bool sharded;
    size_t *cuts;             /* of all buckets, then of all parameters */
    struct comm_parts *parts; /* of the parameters */
    struct bucket *buckets;
    size_t n_buckets, due, started, done;
    bool broken;           /* communication has failed: no more buckets are started */
    struct staged *staged; /* reducer_staged.c */
    struct device_group *group;
    struct grouped *grouped; /* reducer_group.c */
};

/* -- reducer_plan.c -- */
/* Group the checked gradients into buckets. */
int reducer_plan(raytrain_reducer *r, const struct gradients *g, struct error *err);
/* Place tensors without memory from base on (NULL: only count). Returns the bytes from
 * base to the end. */
size_t tensors_place(raytrain_reducer *r, char *base);
/* *is_one: one call can take these n > 0 bytes of adjacent tensors. GPU memory must be
 * one allocation for that. */
int tensors_are_one(const raytrain_reducer *r, const void *data, size_t n, bool *is_one,
                    struct error *err);
/* The address, rounded up to one at which another type may begin. */
size_t reducer_aligned(size_t at);
/* COLLECTIVE: give tensors and buckets their memory, and ranks their parts. */
int reducer_place(raytrain_reducer *r, struct error *err);

/* -- reducer_host.c, also for reducer_staged.c -- */
/* Start to reduce b->data, and test. */
int bucket_reduce(raytrain_reducer *r, struct bucket *b, struct error *err);
int bucket_test(raytrain_reducer *r, struct bucket *b, struct error *err);
/* COLLECTIVE: copy all parts, in host memory, to all ranks. */
int parts_gather(raytrain_reducer *r, const struct comm_parts parts[],
                 struct error *err);

/* -- reducer.c -- */
/* RAYTRAIN_ECOMM: this reducer cannot be used any longer. */
int reducer_broken_error(raytrain_reducer *r);

#endif
