/* wireup.c - the start of a worker's wireup, and its end. */
#include "config.h"

#include "wireup/wireup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "wireup/wireup_impl.h"

/* An MPI library may name files after its group. The namespace is a secret, with which
 * a process of another user could join, so the group has its hash. */
static void group_name(struct wireup *w)
{
    uint64_t hash = XXH3_64bits(w->me.nspace, strlen(w->me.nspace));

    snprintf(w->group, sizeof w->group, "raytrain-%016" PRIx64, hash);
}

int wireup_init(int expected_size, struct wireup **out, struct error *err)
{
    struct wireup *w;

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
    if (wireup_client_start(&w->me, err) < 0) {
        free(w);
        return -1;
    }
    if (wireup_world_size(w, expected_size, err) < 0 || wireup_nodes_find(w, err) < 0) {
        wireup_finalize(w);
        return -1;
    }
    wireup_world_host(w);
    group_name(w);
    *out = w;
    return 0;
}

const struct world *wireup_world(const struct wireup *w)
{
    return &w->world;
}

void wireup_finalize(struct wireup *w)
{
    if (!w)
        return;
    wireup_bridges_stop(w);
    (void)wireup_server_stop_child(w);
    wireup_client_end();
    while (w->exchanged) {
        struct exchanged *x = w->exchanged;

        w->exchanged = x->next;
        free(x);
    }
    free(w->node_of);
    free(w->mapping);
    free(w);
}
