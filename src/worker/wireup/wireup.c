/*
 * wireup.c - the PMIx client of a worker.
 *
 * Fences (sharing.h) are made by one thread at a time: by the bridge's only while the
 * main thread is inside an MPI call that all ranks make.
 */
#include "config.h"

#include "wireup/wireup.h"

#include <inttypes.h>
#include <pmix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "wireup/env_scope.h"
#include "wireup/pmi_bridge.h"
#include "wireup/sharing.h"
#include "wireup/shm_room.h"
#include "wireup/wireup_impl.h"

static pmix_status_t client_start(pmix_proc_t *me)
{
    struct env_scope scope = {.n = 0};
    pmix_status_t rc;

    env_scope_set_hwloc(&scope);
    rc = PMIx_Init(me, NULL, 0);
    env_scope_end(&scope);
    return rc;
}

/* Do the comma-separated lists a and b have a word in common? */
static bool words_meet(const char *a, const char *b)
{
    for (size_t n; *a; a += n + (a[n] == ',')) {
        n = strcspn(a, ",");
        for (const char *at = b; n > 0 && *at;) {
            size_t m = strcspn(at, ",");

            if (m == n && strncmp(a, at, n) == 0)
                return true;
            at += m + (at[m] == ',');
        }
    }
    return false;
}

/* Why PMIx_Init failed, as far as that can be known: its own message says little. */
static int client_refused(pmix_status_t rc, struct error *err)
{
    const char *said = PMIx_Error_string(rc), *asked = getenv("PMIX_MCA_psec");
    const char *offered = getenv("PMIX_SECURITY_MODE"); /* by the server */

    if (offered && asked && asked[0] != '^' && !words_meet(asked, offered))
        return error_set(err, RAYTRAIN_ECOMM,
                         "PMIx_Init: %s. The PMIx server of this node has the security "
                         "modules (psec) \"%s\", and PMIX_MCA_psec=%s in the "
                         "environment names none of them: unset it, or name one",
                         said, offered, asked);
    if (offered && rc != PMIX_ERR_UNREACH)
        return error_set(
            err, RAYTRAIN_ECOMM,
            "PMIx_Init: %s. This worker's PMIx (%.24s) and the server of "
            "this node cannot work together: their builds differ, or "
            "they have no security module (psec) in common; the server has "
            "\"%s\". Set PMIX_MCA_psec=native, or name the matching "
            "plugin of Slurm, such as --srun-args=--mpi=pmix_v4; srun "
            "--mpi=list shows them",
            said, PMIx_Get_version(), offered);
    return error_set(err, RAYTRAIN_ECOMM,
                     "PMIx_Init: %s. The PMIx server of this node (Slurm's, or that "
                     "of raytrain-run) does not answer; is PMIX_NAMESPACE inherited "
                     "from a program that has ended?",
                     said);
}

/* An MPI library may name files after its group. The namespace is a secret, with which
 * a process of another user could join, so the group has its hash. */
static void groups_name(struct wireup *w)
{
    uint64_t hash = XXH3_64bits(w->me.nspace, strlen(w->me.nspace));

    snprintf(w->group, sizeof w->group, "raytrain-%016" PRIx64, hash);
    snprintf(w->child_group, sizeof w->child_group, "%s-child", w->group);
}

int wireup_init(int expected_size, struct wireup **out, struct error *err)
{
    struct wireup *w;
    pmix_status_t rc;

    *out = NULL;
    /* Without a server PMIx_Init makes a group of one, which would hide the cause. */
    if (!getenv("PMIX_NAMESPACE"))
        return error_set(
            err, RAYTRAIN_ECOMM,
            "this worker finds no PMIx server (PMIX_NAMESPACE is not set). "
            "Workers are started by raytrain-run; under Slurm their step "
            "needs --mpi=pmix, which is Slurm's plugin mpi_pmix.so "
            "(package slurm-wlm-basic-plugins on Debian)");
    w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the wireup");
    rc = client_start(&w->me);
    if (rc != PMIX_SUCCESS) {
        free(w);
        return client_refused(rc, err);
    }
    if (wireup_world_size(w, expected_size, err) < 0 || wireup_nodes_find(w, err) < 0) {
        wireup_finalize(w);
        return -1;
    }
    wireup_world_host(w);
    groups_name(w);
    *out = w;
    return 0;
}

const struct world *wireup_world(const struct wireup *w)
{
    return &w->world;
}

/* ---- The PMI bridge ---- */

static void round_key(char name[PMIX_MAX_KEYLEN + 1], unsigned round)
{
    snprintf(name, PMIX_MAX_KEYLEN + 1, "raytrain-pmi.%u", round);
}

static int bridge_share(void *arg, unsigned round, const char *data, size_t n,
                        struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1];

    round_key(key, round);
    if (sharing_put(key, data, n, err) < 0)
        return -1;
    return wireup_blobs_share(arg, err);
}

static int bridge_fetch(void *arg, int rank, unsigned round, char **data, size_t *n,
                        struct error *err)
{
    char key[PMIX_MAX_KEYLEN + 1];

    round_key(key, round);
    return wireup_blob_get(arg, rank, key, data, n, err);
}

static void bridge_abort(void *arg, int exit_status, const char *message)
{
    struct wireup *w = arg;
    char text[512];

    snprintf(text, sizeof text, "%s", message);
    if (atomic_load(&w->mpi_starts))
        shm_room_blame(text, sizeof text);
    wireup_abort(w, exit_status, text);
}

int wireup_bridge_start(struct wireup *w, struct error *err)
{
    static const struct pmi1_ops ops = {
        .share = bridge_share,
        .fetch = bridge_fetch,
        .abort = bridge_abort,
    };
    struct pmi1_config config = {
        .rank = w->world.rank,
        .size = w->world.size,
        .kvsname = w->group,
        .mapping = w->mapping,
        .ops = &ops,
        .arg = w,
    };

    atomic_store(&w->mpi_starts, true);
    return pmi_bridge_start(&config, &w->bridge, err);
}

void wireup_bridge_hide(struct wireup *w)
{
    atomic_store(&w->mpi_starts, false);
    pmi_bridge_hide();
}

void wireup_bridge_stop(struct wireup *w)
{
    pmi_bridge_stop(w->bridge);
    w->bridge = NULL;
}

/* ---- The end ---- */

void wireup_abort(struct wireup *w, int exit_status, const char *message)
{
    (void)w;
    /* the process ends here: there is no caller to return an error to */
    if (message)
        dprintf(STDERR_FILENO, "raytrain: %s\n", message);
    PMIx_Abort(exit_status, message ? message : "", NULL, 0);
    _exit(exit_status);
}

/* PMIx counts its initialisations. An MPI library that speaks PMIx itself has made one
 * of its own, and is never finalized (backend/mpi_backend.c): finalize for both, or the
 * server takes the end of this process for a crash. */
static void client_end(void)
{
    do {
        if (PMIx_Finalize(NULL, 0) != PMIX_SUCCESS)
            return;
    } while (PMIx_Initialized());
}

void wireup_finalize(struct wireup *w)
{
    if (!w)
        return;
    wireup_bridge_stop(w);
    pmi_bridge_stop(w->child_bridge);
    (void)wireup_server_stop_child(w);
    client_end();
    while (w->exchanged) {
        struct exchanged *x = w->exchanged;

        w->exchanged = x->next;
        free(x);
    }
    free(w->node_of);
    free(w->mapping);
    free(w);
}
