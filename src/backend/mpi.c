/*
 * mpi.c - the MPI backend: wires MPI up through PMIx or the PMI bridge, and takes it
 * down without MPI_Finalize.
 *
 * Why without: MPI_Finalize of MPICH 4.0 over UCX can hang over several nodes, because
 * it waits in a PMI barrier without making progress on messages. A barrier of our own
 * says that all messages have arrived; then nobody needs MPI any more, and the process
 * leaves, by an ordinary exit: no exit handler of MPICH, UCX or PMIx minds.
 *
 * What MPI leaves behind: names in /dev/shm, where a process is killed during the few
 * milliseconds of MPI_Init between their creation and their removal. All else is
 * unlinked before it is used. See wireup/shm_tidy.h.
 */
#include "config.h"

#include <sched.h>
#include <stdlib.h>

#include "backend/cores.h"
#include "backend/mpi.h"
#include "wireup/env_scope.h"
#include "wireup/shm_tidy.h"

/* Where every rank has a core of its own, a wait looks this often for what is about to
 * come before it yields (some 100 microseconds: yielding costs a system call, and the
 * core's next turn where a stranger wants it too). On a crowded node, never: the rank
 * that is waited for may be waiting for this core. */
#define POLLS_UNCROWDED 2000

struct mpi_backend {
    struct wireup *wireup;
    MPI_Comm user;
};

static int size_check(int expected, struct error *err)
{
    int size = 0, rc = MPI_Comm_size(MPI_COMM_WORLD, &size);

    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Comm_size", rc);
    if (size == expected)
        return 0;
    return error_set(
        err, RAYTRAIN_ECOMM,
        "MPI came up as groups of %d in a run of %d workers: the MPI library "
        "neither speaks PMI-1 nor found the PMIx server. Is the training "
        "function linked with another MPI than raytrain (see ldd)?",
        size, expected);
}

/*
 * The library's and the user's. Without MPI's blocking calls, which on
 * a crowded node take hundreds of times as long. The user's keeps MPI's own way with
 * errors: they are fatal.
 */
static int comms_create(struct backend *b, struct mpi_backend *m, struct error *err)
{
    MPI_Comm library = MPI_COMM_NULL, *const made[] = {&library, &m->user};

    for (int i = 0; i < 2; i++) {
        MPI_Request request;
        int done = 0, rc = MPI_Comm_idup(MPI_COMM_WORLD, made[i], &request);

        while (rc == MPI_SUCCESS && !done) {
            rc = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            if (!done)
                sched_yield();
        }
        if (rc != MPI_SUCCESS)
            return mpi_fail(err, "MPI_Comm_idup", rc);
    }
    b->comm = mpi_comm_create(library, err);
    return b->comm ? 0 : -1;
}

static int polls_choose(struct comm *c, const struct world *world, struct error *err)
{
    bool crowded = true;

    if (cores_crowded(c, world->node_rank, &crowded, err) < 0)
        return -1;
    c->polls = crowded ? 0 : POLLS_UNCROWDED;
    return 0;
}

/*
 * A group on one node needs no network: UCX need not look for one, which would take as
 * long as all else that it does. Nor does it need the kernel to copy between processes
 * (cma): for messages of 8 to 256 KiB, which gradients in chunks are, that takes twice
 * as long as shared memory, and for large ones no less.
 */
static void startup_settings(struct env_scope *scope, const struct world *world)
{
    env_scope_set_hwloc(scope);
    if (world->n_nodes == 1)
        env_scope_set(scope, "UCX_TLS", "posix,sysv,self");
}

static int mpi_init(struct wireup *w, struct error *err)
{
    struct env_scope scope = {.n = 0};
    int provided = MPI_THREAD_SINGLE, rc;

    shm_tidy();
    if (wireup_bridge_start(w, err) < 0)
        return -1;
    startup_settings(&scope, wireup_world(w));
    rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    env_scope_end(&scope);
    wireup_bridge_hide(w);
    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Init_thread", rc);
    if (provided < MPI_THREAD_MULTIPLE)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "this MPI library does not support MPI_THREAD_MULTIPLE");
    return 0;
}

static int mpi_start(struct backend *b, struct wireup *w, struct error *err)
{
    struct mpi_backend *m = calloc(1, sizeof *m);

    if (!m)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the MPI backend");
    m->wireup = w;
    m->user = MPI_COMM_NULL;
    b->impl = m;
    if (mpi_init(w, err) < 0 || size_check(wireup_world(w)->size, err) < 0 ||
        comms_create(b, m, err) < 0 ||
        polls_choose(b->comm, wireup_world(w), err) < 0) {
        wireup_bridge_stop(w);
        free(m);
        b->impl = NULL;
        return -1;
    }
    return 0;
}

/* When not clean, other ranks may be anywhere, and this one inside an MPI call that was
 * interrupted: touch nothing, the process is about to end. */
static void mpi_shutdown(struct backend *b, bool clean, bool *exit_now)
{
    struct mpi_backend *m = b->impl;
    int finalized = 0;

    *exit_now = !clean;
    if (!clean || !m) {
        b->comm = NULL;
        return;
    }
    MPI_Finalized(&finalized);
    if (!finalized) {
        b->comm->ops->barrier(b->comm, NULL);
        comm_free(b->comm);
        MPI_Comm_free(&m->user);
    }
    b->comm = NULL;
    wireup_bridge_stop(m->wireup);
    free(m);
    b->impl = NULL;
}

int backend_mpi_user_comm(const struct backend *b, MPI_Comm *comm, struct error *err)
{
    const struct mpi_backend *m = b->impl;

    *comm = MPI_COMM_NULL;
    if (b->ops != &backend_mpi || !m)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "the backend of this run is \"%s\", not \"mpi\"",
                         b->ops->name);
    *comm = m->user;
    return 0;
}

const struct backend_ops backend_mpi = {
    .name = "mpi",
    .on_start = mpi_start,
    .on_shutdown = mpi_shutdown,
};
