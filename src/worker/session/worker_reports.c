/* worker_reports.c - what each rank reports, for callbacks that want to have it. */
#include <stdlib.h>
#include <string.h>

#include "rank/event.h"
#include "session/session.h"

/* Of a report: the launcher reads its line as a whole, and keeps 4 MiB of events for a
 * callback that is slow. */
#define WORKERS_BYTES_MAX ((size_t)2 << 20)

/* "[{...},{...}]", of objects one after the other; NULL: there is no memory. */
static char *workers_join(const char *texts, const size_t *sizes, int n, size_t total)
{
    char *joined = malloc(total + (size_t)n + 2), *to = joined;

    for (int rank = 0; joined && rank < n; rank++) {
        *to++ = rank > 0 ? ',' : '[';
        memcpy(to, texts, sizes[rank]);
        to += sizes[rank];
        texts += sizes[rank];
    }
    if (joined)
        strcpy(to, "]");
    return joined;
}

/* Only the first time. */
static void size_note(raytrain_context *ctx, size_t total)
{
    if (!ctx->workers_noted)
        event_add(
            ctx->env.log_dir, EVENT_WARNING,
            "the metrics of all workers are %zu bytes in one report, more than "
            "the %zu that callbacks get: after_report() has those of rank 0 alone",
            total, WORKERS_BYTES_MAX);
    ctx->workers_noted = true;
}

int session_worker_reports(raytrain_context *ctx, const char *reported, char **out,
                           struct error *err)
{
    struct comm *comm = ctx->comm;
    size_t *sizes = calloc(comm->rank == 0 ? (size_t)comm->size : 1, sizeof *sizes);
    const char *mine = reported ? reported : "{}";
    size_t total = 0;
    void *texts = NULL;
    int rc = sizes ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    if (comm_agree(comm, rc, err) < 0) {
        free(sizes);
        return -1;
    }
    rc = comm->ops->gatherv(comm, mine, strlen(mine), &texts, sizes, 0, err);
    for (int rank = 0; rc == 0 && comm->rank == 0 && rank < comm->size; rank++)
        total += sizes[rank];
    if (total > WORKERS_BYTES_MAX)
        size_note(ctx, total);
    else if (rc == 0 && comm->rank == 0 &&
             !(*out = workers_join(texts, sizes, comm->size, total)))
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    free(texts);
    free(sizes);
    return rc;
}
