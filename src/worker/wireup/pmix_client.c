/*
 * pmix_client.c - a worker as a client of PMIx: how it starts, why it cannot, how it
 * ends and how it ends its group.
 */
#include "config.h"

#include "wireup/wireup_impl.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wireup/env_scope.h"

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

int wireup_client_start(pmix_proc_t *me, struct error *err)
{
    struct env_scope scope = {.n = 0};
    pmix_status_t rc;

    env_scope_set_hwloc(&scope);
    rc = PMIx_Init(me, NULL, 0);
    env_scope_end(&scope);
    return rc == PMIX_SUCCESS ? 0 : client_refused(rc, err);
}

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
void wireup_client_end(void)
{
    do {
        if (PMIx_Finalize(NULL, 0) != PMIX_SUCCESS)
            return;
    } while (PMIx_Initialized());
}
