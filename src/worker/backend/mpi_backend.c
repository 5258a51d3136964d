/*
 * mpi_backend.c - the MPI backend: starts MPI through PMIx or the PMI bridge, and ends
 * without MPI_Finalize.
 *
 * Why without: MPI_Finalize of MPICH 4.0 over UCX can hang on several nodes, because it
 * waits in a PMI barrier without making progress on messages. A barrier of our own
 * shows that all messages have arrived; then no rank needs MPI any more, and the
 * process exits as usual, which the exit handlers of MPICH, UCX and PMIx allow.
 *
 * What MPI leaves behind: names in /dev/shm, if a process is killed during the few
 * milliseconds of MPI_Init between their creation and their removal. Everything else is
 * unlinked before it is used. See util/shm_tidy.h.
 */
#include "config.h"

#include "backend/mpi_backend.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/mpi_program.h"
#include "mpi/mpi_error.h"
#include "util/shm_tidy.h"
#include "wireup/env_scope.h"

struct mpi_backend {
    struct wireup *wireup;
    MPI_Comm user;
    struct mpi_program program;
};

/* ---- Cores ---- */

/* If every rank has a core of its own, a wait polls this often before it yields (about
 * 100 microseconds: a yield costs a system call, and a time slice if another process
 * wants the core). On a crowded node it yields at once, since the rank for which it
 * waits may need this core. */
#define POLLS_UNCROWDED 2000

/* CPUs beyond these are ignored; a node that has more is hardly crowded. */
#define CPUS_MAX 4096

/* The cores on which a rank may run. */
struct rank_cpus {
    unsigned char cpus[CPUS_MAX / 8];
};

/* The system call itself, since the C library's cpu_set_t may be too small for the CPUs
 * of the kernel. */
static void rank_cpus_find(struct rank_cpus *s)
{
    memset(s, 0, sizeof *s);
    if (syscall(SYS_sched_getaffinity, 0, sizeof s->cpus, s->cpus) < 0)
        memset(s->cpus, 0xff, sizeof s->cpus); /* unknown: not crowded */
}

static int bits_count(const unsigned char *bytes, size_t n)
{
    int count = 0;

    for (size_t i = 0; i < n; i++)
        count += __builtin_popcount(bytes[i]);
    return count;
}

/*
 * Do the ranks of a node outnumber the cores that they may run on together? Each may be
 * bound to cores of its own, or all to the same cores, so one rank cannot tell.
 */
static int cores_crowded(struct comm *node, bool *crowded, struct error *err)
{
    struct rank_cpus mine, *all = malloc((size_t)node->size * sizeof *all);

    if (!all)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %d workers", node->size);
    rank_cpus_find(&mine);
    if (node->ops->allgather(node, &mine, sizeof mine, all, err) < 0) {
        free(all);
        return -1;
    }
    for (int r = 0; r < node->size; r++)
        for (size_t i = 0; i < sizeof mine.cpus; i++)
            mine.cpus[i] |= all[r].cpus[i];
    free(all);
    *crowded = node->size > bits_count(mine.cpus, sizeof mine.cpus);
    return 0;
}

/* Exchanged within the node only, so that the cost per rank does not grow with the
 * run. */
static int polls_choose(struct comm *c, const struct world *world, struct error *err)
{
    struct comm *node = NULL;
    bool crowded = true;
    int rc = 0;

    if (world->n_nodes > 1)
        rc = c->ops->split_node(c, &node, err);
    if (rc == 0)
        rc = cores_crowded(node ? node : c, &crowded, err);
    comm_free(node);
    if (rc == 0)
        c->polls = crowded ? 0 : POLLS_UNCROWDED;
    return rc;
}

/* ---- Start and shutdown ---- */

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
        "function linked with a different MPI than raytrain (see ldd)?",
        size, expected);
}

/*
 * Make the communicators for raytrain and for the user, without MPI's blocking calls,
 * which take hundreds of times as long on a crowded node.
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
    b->comm = mpi_comm_create(library, wireup_world(m->wireup)->node_rank, err);
    return b->comm ? 0 : -1;
}

static void open_mpi_prepare(struct env_scope *scope)
{
#ifdef OPEN_MPI
    if (getenv("SLURM_STEP_ID"))
        return;
    for (const struct mpi_setting *s = settings_of_open_mpi; s->name; s++)
        env_scope_set(scope, s->name, s->value);
#else
    (void)scope;
#endif
}

/*
 * Wait until all ranks have left MPI_Init, which ends with a fence of PMIx without
 * data. Under Slurm 22.05 on several nodes, such a fence has been seen to release ranks
 * while another was still exchanging addresses, which then died of the first message to
 * it. A fence with data, as here, waits for all.
 *
 * Then unlink Open MPI's shared memory, which Open MPI does in MPI_Finalize only: each
 * rank has by now mapped the memory of the other ranks on its node.
 */
static int open_mpi_settle(struct wireup *w, struct error *err)
{
#ifdef OPEN_MPI
    if (wireup_exchange(w, "mpi", NULL, 0, err) < 0)
        return -1;
    shm_unname("vader_segment.");
#else
    (void)w;
    (void)err;
#endif
    return 0;
}

/*
 * A group on one node needs no network: UCX does not search for one, which would take
 * as long as the rest of its start. Nor does the kernel copy between processes (cma):
 * for messages of 8 to 256 KiB, the size of gradients in chunks, that takes twice as
 * long as shared memory, and it is not faster for large ones.
 */
static void startup_settings(struct env_scope *scope, const struct world *world)
{
    env_scope_set_hwloc(scope);
    open_mpi_prepare(scope);
    if (world->n_nodes == 1)
        env_scope_set(scope, "UCX_TLS", "posix,sysv,self");
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
    /* MPICH 5 finds the bridge's PMI-1 beside PMIx, and would refuse to choose. */
    env_scope_set(scope, "MPIR_CVAR_PMI_VERSION", "1");
#endif
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
    rc = mpi_errors_keep();
    if (rc != MPI_SUCCESS)
        return mpi_fail(err, "MPI_Comm_set_errhandler", rc);
    if (provided < MPI_THREAD_MULTIPLE)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "this MPI library does not support MPI_THREAD_MULTIPLE");
    return open_mpi_settle(w, err);
}

static int mpi_start(struct backend *b, struct wireup *w, struct error *err)
{
    struct mpi_backend *m = calloc(1, sizeof *m);

    if (!m)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the MPI backend");
    m->wireup = w;
    m->user = MPI_COMM_NULL;
    m->program = (struct mpi_program){.wireup = w, .fd = -1};
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

/* If it is not clean, this rank may be inside an MPI call that was interrupted, and
 * other ranks anywhere: leave everything to the end of the process. */
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
        mpi_program_stop(&m->program);
        comm_free(b->comm);
        MPI_Comm_free(&m->user);
    }
    b->comm = NULL;
    wireup_bridge_stop(m->wireup);
    free(m);
    b->impl = NULL;
}

static int mpi_call(const struct backend *b, struct error *err)
{
    (void)b;
    return mpi_errors_first(err);
}

int backend_mpi_user_comm(const struct backend *b, MPI_Comm *comm, struct error *err)
{
    const struct mpi_backend *m = b->impl;

    *comm = MPI_COMM_NULL;
    if (b->ops != &backend_mpi || !m)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "the backend of this run is \"%s\", not \"mpi\"",
                         backend_name(b->ops));
    *comm = m->user;
    return 0;
}

/* ---- A child that is an MPI program ---- */

static int mpi_environment(const struct backend *b,
                           int (*set)(void *arg, const char *name, const char *value),
                           void *arg, struct error *err)
{
    struct mpi_backend *m = b->impl;

    return mpi_program_environment(&m->program, b->comm, set, arg, err);
}

static int mpi_descriptor(const struct backend *b)
{
    const struct mpi_backend *m = b->impl;

    return m->program.fd;
}

static const char *mpi_remark(const struct backend *b, bool well)
{
    const struct mpi_backend *m = b->impl;

    return mpi_program_remark(&m->program, well);
}

const struct backend_ops backend_mpi = {
    .on_start = mpi_start,
    .on_call = mpi_call,
    .environment = mpi_environment,
    .descriptor = mpi_descriptor,
    .remark = mpi_remark,
    .on_shutdown = mpi_shutdown,
};
