/*
 * group.h - the GPUs of all ranks, one per rank: collectives of GPU memory by the
 * vendor's library (NCCL), without a copy in host memory.
 *
 * Each subsystem that communicates has a group, as it has a communicator. A group has a
 * stream on which collectives are queued; they return at once. device_group_begin() and
 * device_group_end(), which may enclose several collectives, order them with the
 * caller's stream. All functions are collective: every rank makes the same calls in the
 * same order, with the same sizes; this is not checked, so callers let the ranks agree
 * first.
 *
 * The library is opened by the first device_group_create(), at run time; a process
 * without a group does not open it. Its environment variables are the user's.
 *
 * Memory is that of the group's GPU, as device_check() requires. It must stay allocated
 * until what was queued is done, or the group is aborted.
 *
 * Failures: -1. RAYTRAIN_ECOMM: the library has reported an error, here or on another
 * rank, or the group was aborted. From then on every call on this group fails in the
 * same way, and the results are undefined. Other codes are those of device.h.
 *
 * Only the thread of the training function calls these; device_groups_check() and
 * device_groups_abort() may be called by any.
 *
 * To add a collective: queue it in group.c. Add the functions of NCCL that it needs to
 * the table in nccl.h, with the version that introduced each, and to
 * t/device/standin_nccl.c. Ranks agree on the call before it is queued, because NCCL
 * hangs if their calls differ. A communicator is made and tried in group_join.c, in a
 * bounded time. The thread of group_watch.c looks for asynchronous errors, and aborts a
 * group that has one before its kernels end, so that device_groups_check() after a copy
 * says whether the bytes are good. If a rank dies without such an error, the launcher
 * notices it, and kills the others.
 */
#ifndef RAYTRAIN_DEVICE_GROUP_H
#define RAYTRAIN_DEVICE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "comm/comm.h"
#include "raytrain.h"
#include "util/error.h"
#include "util/rank_list.h"

struct device_group;

/* What a group is created with; it is borrowed until device_group_create() returns, and
 * comm until device_group_destroy(). */
struct device_group_env {
    struct comm *comm; /* the subsystem's, for agreements */
    /* This rank's GPU, as in a raytrain_tensor. device is RAYTRAIN_HOST if this rank
     * has none: then there is no group, on any rank. */
    int device, id;
    /* COLLECTIVE: copy rank 0's n bytes (at most 1024) at `id` to the other ranks. It
     * may fail on some ranks: they agree on it afterwards. NULL: use comm. */
    int (*share)(void *arg, void *id, size_t n, struct error *err);
    void *share_arg;
    /* How long the ranks may take to connect their GPUs; 0: no limit. */
    double limit_s;
    /* The limit is over: let other ranks know that this one waits. It must not wait for
     * other ranks, since this rank does not answer them meanwhile. May be NULL. */
    void (*announce)(void *arg);
    /* Which ranks have not announced it? "rank 1", or "" if that is not known. Called
     * only before this rank gives up the others. NULL: not known. */
    void (*absent)(void *arg, char list[RANK_LIST_MAX]);
    void *absent_arg; /* for both */
    /* Becomes true if a rank does not answer: then comm cannot be used or freed any
     * more. May be NULL. */
    bool *lost;
};

/*
 * COLLECTIVE. Returns 0 on all ranks, or -1 on all ranks. *out is the group; or NULL on
 * all ranks, if tensors must go through host memory. Then *why has the reason, which is
 * the same on all ranks but for "rank N: " in front: ranks share a GPU, a rank has no
 * library or one that is too old, or the GPUs are not of one vendor. -1, with *err: on
 * some rank the group could not be made within the limit, or the first collective
 * failed (RAYTRAIN_ECOMM), or memory is short. Then all ranks have given up.
 */
int device_group_create(const struct device_group_env *env, struct device_group **out,
                        struct error *why, struct error *err);
/* COLLECTIVE, or after an abort on this rank. Waits until what was queued is done,
 * unless the group is aborted or has failed. Accepts NULL. */
void device_group_destroy(struct device_group *g);

/*
 * begin orders what is queued in the group from now on after what the caller has queued
 * on its stream (device_set_stream()). end orders what the caller queues from now on
 * after all that was queued in the group. Neither waits on the host.
 */
int device_group_begin(struct device_group *g, struct error *err);
int device_group_end(struct device_group *g, struct error *err);

/* n elements at `data`; data may be NULL if n is 0. */
struct device_span {
    void *data;
    size_t n;
};

/*
 * Combine the elements of all spans over the ranks, in place: all spans in one call of
 * the library. Every rank gets the same bits, which depend on the library and the
 * network, and may differ from those of host memory. 16-bit floats are combined as the
 * library does it (NCCL rounds after each addition). RAYTRAIN_EINVAL for a type that
 * the library cannot combine: it can combine float32, float64, float16, bfloat16, and
 * int64, which has no mean.
 */
int device_group_allreduce(struct device_group *g, const struct device_span spans[],
                           size_t n, raytrain_dtype dtype, raytrain_op op,
                           struct error *err);
/* As comm_ops.ireduce_parts: rank r gets elements [cuts[r], cuts[r + 1]) combined, in
 * place; the others are undefined. cuts has size + 1 numbers, from 0 on, which may be
 * freed when this returns. The number of library calls does not depend on the number of
 * ranks (parts_plan.h). */
int device_group_reduce_parts(struct device_group *g, void *data, const size_t cuts[],
                              raytrain_dtype dtype, raytrain_op op, struct error *err);
/* Copy every rank's part, bytes [cuts[r], cuts[r + 1]), to all ranks, in place. */
int device_group_allgather_parts(struct device_group *g, void *data,
                                 const size_t cuts[], struct error *err);
int device_group_broadcast(struct device_group *g, void *data, size_t bytes, int root,
                           struct error *err);
/* recv has room for `bytes` of each rank. send may be this rank's place in recv. */
int device_group_allgather(struct device_group *g, const void *send, size_t bytes,
                           void *recv, struct error *err);

/* Wait on the host until all that was queued in the group so far is done. Calls
 * comm->waiting as a collective of comm does. */
int device_group_wait(struct device_group *g, struct error *err);
/* -1 if the library has reported an error, or the group was aborted. */
int device_group_check(struct device_group *g, struct error *err);
/* The same for all groups of this process, in any thread. A copy from a GPU is valid
 * only if this returns 0 when it is complete: a group fails before its kernels end.
 * Costs nothing without groups. */
int device_groups_check(struct error *err);

/* Abort what is queued and in progress on this rank: kernels that wait for other ranks
 * end. Other ranks are not informed. Accepts NULL. */
void device_group_abort(struct device_group *g);
/* The same for all groups of this process, in any thread, when the process is about to
 * end. Takes at most about a second, and leaves out a group if a thread is in a library
 * call that does not return. */
void device_groups_abort(void);

#endif
