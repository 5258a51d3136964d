/*
 * mpi_comm.c - the collectives of comm/comm.h over MPI.
 *
 * MPI's own blocking calls poll without ever yielding, which makes them a thousand
 * times slower as soon as ranks outnumber cores. So everything here is a non-blocking
 * call and a loop of MPI_Test that yields the core. Operations of the same kind on one
 * communicator match in order, which is why no tags are needed.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/message_allreduce.h"
#include "mpi/mpi_comm.h"
#include "mpi/mpi_error.h"
#include "mpi/mpi_memory.h"
#include "mpi/mpi_places.h"
#include "util/clock.h"

/* The most that MPI's int counts can describe at a time. */
#define CHUNK_BYTES ((size_t)1 << 30)

struct mpi_comm {
    struct comm base;
    MPI_Comm handle;
    int node_rank;
    struct mpi_reducer reducer;
    struct mpi_memory *memory; /* a list */
};

static struct mpi_comm *mpi_comm_of(struct comm *c)
{
    return (struct mpi_comm *)c;
}

/* ---- Waiting ---- */

/* The first nap; each is longer than the one before, up to the maximum. */
#define NAP_NS     50000
#define NAP_NS_MAX 1000000

struct pause {
    unsigned polls;       /* left before the first yield */
    long nap_ns;          /* the latest nap */
    double since, hooked; /* 0: not before the first yield */
};

static void nap(struct pause *wait)
{
    long longer = wait->nap_ns ? wait->nap_ns + wait->nap_ns / 2 : NAP_NS;

    wait->nap_ns = longer < NAP_NS_MAX ? longer : NAP_NS_MAX;
    nanosleep(&(struct timespec){.tv_nsec = wait->nap_ns}, NULL);
}

/* Nothing has arrived yet: let others run, and call the waiting hook about once a
 * second. */
static void pause_briefly(struct pause *wait, struct comm *c)
{
    double now;

    if (wait->polls > 0 && !c->naps) {
        wait->polls--;
        return;
    }
    if (c->naps)
        nap(wait);
    else
        sched_yield();
    if (!c->waiting)
        return;
    now = clock_now();
    if (wait->since == 0)
        wait->since = wait->hooked = now;
    if (now - wait->hooked < 1)
        return;
    wait->hooked = now;
    c->waiting(c->waiting_arg, now - wait->since);
}

/* Are requests[*done..n) complete? *done advances to the first that is not. */
static int requests_test(size_t n, MPI_Request *requests, size_t *done,
                         const char *what, struct error *err)
{
    int complete = 1;

    while (*done < n && complete) {
        int rc = MPI_Test(&requests[*done], &complete, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS)
            return mpi_fail(err, what, rc);
        if (complete)
            ++*done;
    }
    return 0;
}

static int requests_wait(struct comm *c, size_t n, MPI_Request *requests,
                         const char *what, struct error *err)
{
    struct pause wait = {.polls = c->polls};
    size_t done = 0;

    for (;;) {
        if (requests_test(n, requests, &done, what, err) < 0)
            return -1;
        if (done == n)
            return 0;
        pause_briefly(&wait, c);
    }
}

/* ---- Reductions ---- */

/* Each rank gets all results or, with cuts, those of its part. Between nodes all ranks
 * get all results in both cases: with cuts, up to twice the bytes that are needed. */
static int reduction_start(struct comm *c, enum comm_place place, void *buf, size_t n,
                           const size_t *cuts, enum comm_type type, enum comm_op op,
                           struct comm_request **req, struct error *err)
{
    struct mpi_comm *m = mpi_comm_of(c);
    struct shared_reducer *shared;
    struct reduction_kind kind;

    *req = NULL;
    if (comm_check_place(c, place, err) < 0 ||
        reduction_kind_find(type, op, &kind, err) < 0)
        return -1;
    shared = mpi_memory_shared(m->memory, buf, n * kind.width);
    if (!shared)
        return mpi_reduction_start(&m->reducer, buf, n, &kind, req, err);
    return cuts ? shared_reduction_start_parts(shared, buf, cuts, &kind, req, err)
                : shared_reduction_start(shared, buf, n, &kind, req, err);
}

static int mpi_iallreduce(struct comm *c, enum comm_place place, void *buf, size_t n,
                          enum comm_type type, enum comm_op op,
                          struct comm_request **req, struct error *err)
{
    return reduction_start(c, place, buf, n, NULL, type, op, req, err);
}

static int mpi_ireduce_parts(struct comm *c, enum comm_place place, void *buf,
                             const size_t *cuts, enum comm_type type, enum comm_op op,
                             struct comm_request **req, struct error *err)
{
    return reduction_start(c, place, buf, cuts[c->size], cuts, type, op, req, err);
}

static int mpi_test(struct comm *c, struct comm_request **req, bool *done,
                    struct error *err)
{
    int rc = (*req)->advance(*req, done, err);

    (void)c;
    if (rc < 0 || *done)
        *req = NULL;
    return rc;
}

static int reduction_wait(struct comm *c, struct comm_request *request,
                          struct error *err)
{
    struct pause wait = {.polls = c->polls};
    bool done;

    for (;;) {
        if (mpi_test(c, &request, &done, err) < 0)
            return -1;
        if (done)
            return 0;
        pause_briefly(&wait, c);
    }
}

static int mpi_allreduce(struct comm *c, void *buf, size_t n, enum comm_type type,
                         enum comm_op op, struct error *err)
{
    struct comm_request *request;

    if (mpi_iallreduce(c, COMM_HOST, buf, n, type, op, &request, err) < 0)
        return -1;
    return reduction_wait(c, request, err);
}

#define TYPES 4
#define OPS   4
static_assert(COMM_CALLS * TYPES * OPS <= MPI_MATCHED_CALLS, "each has its tag");
static_assert(COMM_STAT < TYPES && COMM_MEAN < OPS, "all of them");

static int mpi_allreduce_matched(struct comm *c, int call, void *buf, size_t n,
                                 enum comm_type type, enum comm_op op, bool *same,
                                 struct error *err)
{
    struct comm_request *request;
    struct reduction_kind kind;

    if (reduction_kind_find(type, op, &kind, err) < 0 ||
        mpi_matched_start(&mpi_comm_of(c)->reducer,
                          (call * TYPES + (int)type) * OPS + (int)op, buf, n, &kind,
                          same, &request, err) < 0)
        return -1;
    return reduction_wait(c, request, err);
}

/* ---- Moving bytes ---- */

static int comm_root_check(const struct comm *c, int root, struct error *err)
{
    if (root < 0 || root >= c->size)
        return error_set(err, RAYTRAIN_EINVAL, "root is rank %d of %d", root, c->size);
    return 0;
}

static int mpi_bcast(struct comm *c, void *buf, size_t n_bytes, int root,
                     struct error *err)
{
    if (comm_root_check(c, root, err) < 0)
        return -1;
    for (size_t done = 0; done < n_bytes; done += CHUNK_BYTES) {
        size_t rest = n_bytes - done;
        int count = (int)(rest < CHUNK_BYTES ? rest : CHUNK_BYTES);
        MPI_Request request;
        int rc = MPI_Ibcast((char *)buf + done, count, MPI_BYTE, root,
                            mpi_comm_of(c)->handle, &request);

        if (rc != MPI_SUCCESS)
            return mpi_fail(err, "MPI_Ibcast", rc);
        if (requests_wait(c, 1, &request, "MPI_Ibcast", err) < 0)
            return -1;
    }
    return 0;
}

/* Blocks that MPI's counts can describe are sent whole. */
static int allgather_whole(struct comm *c, const void *send, size_t n_bytes, void *recv,
                           struct error *err)
{
    MPI_Request request;
    int rc = MPI_Iallgather(send, (int)n_bytes, MPI_BYTE, recv, (int)n_bytes, MPI_BYTE,
                            mpi_comm_of(c)->handle, &request);

    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Iallgather", rc);
    return requests_wait(c, 1, &request, "MPI_Iallgather", err);
}

/* Gather n of the n_bytes of each block; the rest of a block in recv is left as
 * it is. */
static int allgather_piece(struct comm *c, const void *send, int n, size_t n_bytes,
                           void *recv, struct error *err)
{
    MPI_Datatype piece, block = MPI_DATATYPE_NULL;
    MPI_Request request;
    int rc = MPI_Type_contiguous(n, MPI_BYTE, &piece);

    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Type_contiguous", rc);
    rc = MPI_Type_create_resized(piece, 0, (MPI_Aint)n_bytes, &block);
    MPI_Type_free(&piece);
    if (rc == MPI_SUCCESS)
        rc = MPI_Type_commit(&block);
    if (rc == MPI_SUCCESS)
        rc = MPI_Iallgather(send, n, MPI_BYTE, recv, 1, block, mpi_comm_of(c)->handle,
                            &request);
    if (block != MPI_DATATYPE_NULL)
        MPI_Type_free(&block); /* MPI keeps it until the operation is complete */
    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Iallgather", rc);
    return requests_wait(c, 1, &request, "MPI_Iallgather", err);
}

static int mpi_allgather(struct comm *c, const void *send, size_t n_bytes, void *recv,
                         struct error *err)
{
    if (n_bytes <= CHUNK_BYTES)
        return allgather_whole(c, send, n_bytes, recv, err);
    for (size_t done = 0; done < n_bytes; done += CHUNK_BYTES) {
        size_t rest = n_bytes - done;
        int n = (int)(rest < CHUNK_BYTES ? rest : CHUNK_BYTES);

        if (allgather_piece(c, (const char *)send + done, n, n_bytes,
                            (char *)recv + done, err) < 0)
            return -1;
    }
    return 0;
}

static size_t pieces_of(size_t n_bytes)
{
    return (n_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
}

/* On root: allocate what it gathers, and count the messages. */
static int gather_prepare(const size_t *sizes, int n_ranks, char **recv,
                          MPI_Request **requests, struct error *err)
{
    size_t total = 0, pieces = 0;

    for (int r = 0; r < n_ranks; r++) {
        if (sizes[r] > SIZE_MAX - total)
            return error_set(err, RAYTRAIN_ENOMEM,
                             "the data to gather are larger than any memory");
        total += sizes[r];
        pieces += pieces_of(sizes[r]);
    }
    *recv = malloc(total > 0 ? total : 1);
    *requests = malloc((pieces > 0 ? pieces : 1) * sizeof **requests);
    if (*recv && *requests && pieces <= INT_MAX)
        return 0;
    free(*recv);
    free(*requests);
    *recv = NULL;
    *requests = NULL;
    return error_set(err, RAYTRAIN_ENOMEM, "no memory to gather %zu bytes", total);
}

/* Start to send or receive one rank's bytes, in pieces, from requests[*n] on. */
static int pieces_start(struct comm *c, bool sending, char *data, size_t n_bytes,
                        int peer, MPI_Request *requests, size_t *n, struct error *err)
{
    MPI_Comm handle = mpi_comm_of(c)->handle;

    for (size_t done = 0; done < n_bytes; done += CHUNK_BYTES) {
        size_t rest = n_bytes - done;
        int count = (int)(rest < CHUNK_BYTES ? rest : CHUNK_BYTES);
        int rc = sending ? MPI_Isend(data + done, count, MPI_BYTE, peer, 0, handle,
                                     &requests[*n])
                         : MPI_Irecv(data + done, count, MPI_BYTE, peer, 0, handle,
                                     &requests[*n]);

        if (rc != MPI_SUCCESS)
            return mpi_fail(err, sending ? "MPI_Isend" : "MPI_Irecv", rc);
        ++*n;
    }
    return 0;
}

static int gather_receive(struct comm *c, const void *send, const size_t *sizes,
                          char *recv, MPI_Request *requests, struct error *err)
{
    size_t n = 0;

    for (int r = 0; r < c->size; r++) {
        if (r == c->rank && sizes[r] > 0)
            memcpy(recv, send, sizes[r]);
        else if (r != c->rank &&
                 pieces_start(c, false, recv, sizes[r], r, requests, &n, err) < 0)
            return -1;
        recv += sizes[r];
    }
    return n > 0 ? requests_wait(c, n, requests, "MPI_Irecv", err) : 0;
}

static int gather_send(struct comm *c, const void *send, size_t n_bytes, int root,
                       struct error *err)
{
    size_t n = 0;
    MPI_Request *requests = malloc((pieces_of(n_bytes) + 1) * sizeof *requests);
    int rc;

    if (!requests)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to send %zu bytes", n_bytes);
    rc = pieces_start(c, true, (char *)(uintptr_t)send, n_bytes, root, requests, &n,
                      err);
    if (rc == 0 && n > 0)
        rc = requests_wait(c, n, requests, "MPI_Isend", err);
    free(requests);
    return rc;
}

/* All ranks first learn all sizes, and whether root has the memory: no rank sends what
 * root cannot receive. */
static int mpi_gatherv(struct comm *c, const void *send, size_t n_bytes, void **recv,
                       size_t *sizes, int root, struct error *err)
{
    size_t *all = malloc((size_t)c->size * sizeof *all);
    MPI_Request *requests = NULL;
    char *bytes = NULL;
    int rc;

    *recv = NULL;
    rc = all ? comm_root_check(c, root, err)
             : error_set(err, RAYTRAIN_ENOMEM, "no memory for %d sizes", c->size);
    if (comm_agree(c, rc, err) < 0)
        goto out;
    rc = mpi_allgather(c, &n_bytes, sizeof n_bytes, all, err);
    if (rc == 0 && c->rank == root)
        rc = gather_prepare(all, c->size, &bytes, &requests, err);
    rc = comm_agree(c, rc, err);
    if (rc == 0 && c->rank == root)
        rc = gather_receive(c, send, all, bytes, requests, err);
    else if (rc == 0)
        rc = gather_send(c, send, n_bytes, root, err);
    if (rc == 0 && c->rank == root) {
        *recv = bytes;
        bytes = NULL;
        if (sizes)
            memcpy(sizes, all, (size_t)c->size * sizeof *all);
    }
out:
    free(requests);
    free(bytes);
    free(all);
    return *recv || (rc == 0 && c->rank != root) ? 0 : -1;
}

static int mpi_sendrecv(struct comm *c, const void *send, size_t n_send, int to,
                        void *recv, size_t n_recv, int from, struct error *err)
{
    size_t n = 0, room = pieces_of(n_send) + pieces_of(n_recv);
    MPI_Request *requests = malloc((room + 1) * sizeof *requests);
    int rc = 0;

    if (!requests)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to send %zu bytes", n_send);
    if (from >= 0)
        rc = pieces_start(c, false, recv, n_recv, from, requests, &n, err);
    if (rc == 0 && to >= 0)
        rc = pieces_start(c, true, (char *)(uintptr_t)send, n_send, to, requests, &n,
                          err);
    if (rc == 0)
        rc = requests_wait(c, n, requests, "MPI_Isend or MPI_Irecv", err);
    free(requests);
    return rc;
}

static int mpi_barrier(struct comm *c, struct error *err)
{
    MPI_Request request;
    int rc = MPI_Ibarrier(mpi_comm_of(c)->handle, &request);

    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Ibarrier", rc);
    return requests_wait(c, 1, &request, "MPI_Ibarrier", err);
}

/* ---- Parts ---- */

/* The shared memory in which all parts lie; NULL: there is none. */
static struct shared_reducer *parts_find(const struct comm *c, const struct mpi_comm *m,
                                         const struct comm_parts parts[], size_t n)
{
    struct shared_reducer *shared = NULL;

    for (size_t i = 0; i < n; i++) {
        struct shared_reducer *s =
            mpi_memory_shared(m->memory, parts[i].data, parts[i].cuts[c->size]);

        if (!s || (shared && s != shared))
            return NULL;
        shared = s;
    }
    return shared;
}

/* Send this rank's part to the rank d after it, and receive that of the rank d
 * before. */
static int part_exchange(struct comm *c, const struct comm_parts *p, int d,
                         struct error *err)
{
    int to = (c->rank + d) % c->size, from = (c->rank + c->size - d) % c->size;
    size_t n_send = p->cuts[c->rank + 1] - p->cuts[c->rank];
    size_t n_recv = p->cuts[from + 1] - p->cuts[from];
    char *data = p->data;

    return mpi_sendrecv(c, data + p->cuts[c->rank], n_send, n_send ? to : -1,
                        data + p->cuts[from], n_recv, n_recv ? from : -1, err);
}

static int mpi_allgather_parts(struct comm *c, const struct comm_parts parts[],
                               size_t n, struct error *err)
{
    struct shared_reducer *shared = parts_find(c, mpi_comm_of(c), parts, n);
    struct comm_request *request;

    if (shared)
        return shared_gather_start(shared, parts, n, &request, err) < 0
                   ? -1
                   : reduction_wait(c, request, err);
    for (int d = 1; d < c->size; d++)
        for (size_t i = 0; i < n; i++)
            if (part_exchange(c, &parts[i], d, err) < 0)
                return -1;
    return 0;
}

/* ---- Memory ---- */

static int mpi_alloc(struct comm *c, enum comm_place place, size_t n_bytes, void **data,
                     struct error *err)
{
    return mpi_memory_add(&mpi_comm_of(c)->memory, c, place, n_bytes, data, err);
}

static int mpi_file(struct comm *c, const void *data, struct comm_file *file,
                    struct error *err)
{
    return mpi_memory_file(mpi_comm_of(c)->memory, data, file, err);
}

/* ---- Communicators ---- */

static struct comm *comm_derive(struct comm *c, MPI_Comm handle, struct error *err)
{
    struct comm *derived = mpi_comm_create(handle, mpi_comm_of(c)->node_rank, err);

    if (derived)
        derived->polls = c->polls;
    return derived;
}

static int mpi_dup(struct comm *c, struct comm **out, struct error *err)
{
    MPI_Comm handle;
    MPI_Request request;
    int rc = MPI_Comm_idup(mpi_comm_of(c)->handle, &handle, &request);

    *out = NULL;
    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Comm_idup", rc);
    if (requests_wait(c, 1, &request, "MPI_Comm_idup", err) < 0)
        return -1;
    *out = comm_derive(c, handle, err);
    return *out ? 0 : -1;
}

/* PMIx is asked for the nodes, since MPICH 5.0.2 takes each rank for a node of its
 * own. */
static int mpi_split_node(struct comm *c, struct comm **out, struct error *err)
{
    MPI_Comm handle;
    const struct mpi_comm *m = mpi_comm_of(c);
    int rc = MPI_Comm_split(m->handle, m->node_rank, c->rank, &handle);

    *out = NULL;
    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Comm_split", rc);
    *out = comm_derive(c, handle, err);
    return *out ? 0 : -1;
}

static int mpi_split(struct comm *c, bool in, struct comm **out, struct error *err)
{
    MPI_Comm handle;
    const struct mpi_comm *m = mpi_comm_of(c);
    int rc = MPI_Comm_split(m->handle, in ? 0 : MPI_UNDEFINED, c->rank, &handle);

    *out = NULL;
    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Comm_split", rc);
    if (!in)
        return 0;
    *out = comm_derive(c, handle, err);
    return *out ? 0 : -1;
}

static void mpi_free(struct comm *c)
{
    struct mpi_comm *m = mpi_comm_of(c);

    mpi_memory_free(m->memory);
    mpi_reducer_clear(&m->reducer);
    MPI_Comm_free(&m->handle);
    free(m);
}

static const struct comm_ops mpi_ops = {
    .name = "mpi",
    .allreduce = mpi_allreduce,
    .iallreduce = mpi_iallreduce,
    .ireduce_parts = mpi_ireduce_parts,
    .test = mpi_test,
    .allreduce_matched = mpi_allreduce_matched,
    .alloc = mpi_alloc,
    .memory_file = mpi_file,
    .reaches = mpi_reaches,
    .bcast = mpi_bcast,
    .allgather = mpi_allgather,
    .allgather_parts = mpi_allgather_parts,
    .gatherv = mpi_gatherv,
    .sendrecv = mpi_sendrecv,
    .barrier = mpi_barrier,
    .dup = mpi_dup,
    .split_node = mpi_split_node,
    .split = mpi_split,
    .free = mpi_free,
};

struct comm *mpi_comm_create(MPI_Comm handle, int node_rank, struct error *err)
{
    struct mpi_comm *m = calloc(1, sizeof *m);

    if (!m) {
        error_set(err, RAYTRAIN_ENOMEM, "no memory for a communicator");
        MPI_Comm_free(&handle);
        return NULL;
    }
    MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN);
    MPI_Comm_rank(handle, &m->base.rank);
    MPI_Comm_size(handle, &m->base.size);
    m->base.ops = &mpi_ops;
    m->handle = handle;
    m->node_rank = node_rank;
    mpi_reducer_init(&m->reducer, handle, m->base.rank, m->base.size);
    return &m->base;
}
