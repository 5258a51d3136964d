/*
 * bridges.c - the PMI bridges of a worker, one for each client: the MPI library of this
 * process, and a program in a child.
 *
 * Fences (sharing.h) are made by one thread at a time: by the library's bridge only
 * while the main thread is inside an MPI call that all ranks make.
 */
#include "config.h"

#include "wireup/wireup_impl.h"

#include <signal.h>
#include <stdio.h>

#include "wireup/sharing.h"
#include "wireup/shm_room.h"

static void library_abort(void *arg, int exit_status, const char *message)
{
    struct bridge *b = arg;
    char text[512];

    snprintf(text, sizeof text, "%s", message);
    if (atomic_load(&b->w->mpi_starts))
        shm_room_blame(text, sizeof text);
    wireup_abort(b->w, exit_status, text);
}

/* In the bridge's thread. The reason is complete before the program ends, and read
 * after that. */
static void child_abort(void *arg, int exit_status, const char *message)
{
    struct bridge *b = arg;
    pid_t client = pmi_bridge_client(b->pmi);

    snprintf(b->w->child_killed, sizeof b->w->child_killed, "%s (status %d)", message,
             exit_status);
    if (client > 0)
        kill(client, SIGKILL);
}

static int bridge_share(void *arg, unsigned round, const char *data, size_t n,
                        struct error *err);
static int bridge_fetch(void *arg, int rank, unsigned round, char **data, size_t *n,
                        struct error *err);

/* What differs between the bridges: the prefix of their keys of PMIx, and the suffix of
 * the name of their group. */
static const struct {
    const char *prefix, *suffix;
    struct pmi1_ops ops;
} kinds[BRIDGES] = {
    [BRIDGE_LIBRARY] = {"raytrain-pmi",
                        "",
                        {bridge_share, bridge_fetch, library_abort}},
    [BRIDGE_CHILD] = {"raytrain-child",
                      "-child",
                      {bridge_share, bridge_fetch, child_abort}},
};

static void round_key(const struct bridge *b, char name[PMIX_MAX_KEYLEN + 1],
                      unsigned round)
{
    snprintf(name, PMIX_MAX_KEYLEN + 1, "%s.%u", kinds[b - b->w->bridges].prefix,
             round);
}

static int bridge_share(void *arg, unsigned round, const char *data, size_t n,
                        struct error *err)
{
    struct bridge *b = arg;
    char key[PMIX_MAX_KEYLEN + 1];

    round_key(b, key, round);
    return sharing_put(key, data, n, err) < 0 ? -1 : wireup_blobs_share(b->w, err);
}

static int bridge_fetch(void *arg, int rank, unsigned round, char **data, size_t *n,
                        struct error *err)
{
    struct bridge *b = arg;
    char key[PMIX_MAX_KEYLEN + 1];

    round_key(b, key, round);
    return wireup_blob_get(b->w, rank, key, data, n, err);
}

/* The bridge of a kind, ready to start. */
static struct bridge *bridge_prepare(struct wireup *w, enum bridge_kind kind,
                                     struct pmi1_config *config)
{
    struct bridge *b = &w->bridges[kind];

    b->w = w;
    snprintf(b->group, sizeof b->group, "%s%s", w->group, kinds[kind].suffix);
    *config = (struct pmi1_config){
        .rank = w->world.rank,
        .size = w->world.size,
        .kvsname = b->group,
        .mapping = w->mapping,
        .ops = &kinds[kind].ops,
        .arg = b,
    };
    return b;
}

int wireup_bridge_start(struct wireup *w, struct error *err)
{
    struct pmi1_config config;
    struct bridge *b = bridge_prepare(w, BRIDGE_LIBRARY, &config);

    atomic_store(&w->mpi_starts, true);
    return pmi_bridge_start(&config, &b->pmi, err);
}

int wireup_bridge_start_child(struct wireup *w, int *fd, struct error *err)
{
    struct pmi1_config config;
    struct bridge *b = bridge_prepare(w, BRIDGE_CHILD, &config);

    return pmi_bridge_start_child(&config, &b->pmi, fd, err);
}

void wireup_bridge_hide(struct wireup *w)
{
    atomic_store(&w->mpi_starts, false);
    pmi_bridge_hide();
}

static void bridge_end(struct bridge *b)
{
    pmi_bridge_stop(b->pmi);
    b->pmi = NULL;
}

void wireup_bridge_stop(struct wireup *w)
{
    bridge_end(&w->bridges[BRIDGE_LIBRARY]);
}

void wireup_bridges_stop(struct wireup *w)
{
    for (int kind = 0; kind < BRIDGES; kind++)
        bridge_end(&w->bridges[kind]);
}
