/* worker_reports.c - gathers what each rank reports, for callbacks that ask for it. */
#include <stdlib.h>
#include <string.h>

#include "rank/event.h"
#include "session/reports.h"
#include "session/session.h"

/* The limit for a report: the launcher reads its line as a whole, and keeps 4 MiB of
 * events for a slow callback. */
#define WORKERS_BYTES_MAX ((size_t)2 << 20)

/* Join objects that follow each other to "[{...},{...}]"; NULL without memory. */
static char *workers_join(const char *reports, const size_t *sizes, int n, size_t total)
{
    char *joined = malloc(total + (size_t)n + 2), *to = joined;

    for (int rank = 0; joined && rank < n; rank++) {
        *to++ = rank > 0 ? ',' : '[';
        memcpy(to, reports, sizes[rank]);
        to += sizes[rank];
        reports += sizes[rank];
    }
    if (joined)
        strcpy(to, "]");
    return joined;
}

/* Note that the limit is exceeded, only the first time. */
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
    const char *mine = reported ? reported : "{}";
    int64_t total = (int64_t)strlen(mine);
    size_t *sizes;
    void *reports = NULL;
    int rc;

    if (comm->ops->allreduce(comm, &total, 1, COMM_INT64, COMM_SUM, err) < 0)
        return -1;
    if ((size_t)total > WORKERS_BYTES_MAX) {
        if (comm->rank == 0)
            size_note(ctx, (size_t)total);
        return 0;
    }
    sizes = calloc(comm->rank == 0 ? (size_t)comm->size : 1, sizeof *sizes);
    rc = comm_agree(comm, sizes ? 0 : error_no_memory(err), err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, mine, strlen(mine), &reports, sizes, 0, err);
    if (rc == 0 && comm->rank == 0 &&
        !(*out = workers_join(reports, sizes, comm->size, (size_t)total)))
        rc = error_no_memory(err);
    free(reports);
    free(sizes);
    return rc;
}
