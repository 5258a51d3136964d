/*
 * none_backend.c - the backend without a framework: one worker, which talks to itself.
 */
#include "backend/backend.h"

static int none_start(struct backend *b, struct wireup *w, struct error *err)
{
    int size = w ? wireup_world(w)->size : 1;

    if (size != 1)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "backend \"none\" is for one worker, and there are %d; with "
                         "backend = \"mpi\" they can communicate",
                         size);
    b->comm = comm_self_create(err);
    return b->comm ? 0 : -1;
}

static void none_shutdown(struct backend *b, bool clean, bool *exit_now)
{
    (void)clean;
    comm_free(b->comm);
    b->comm = NULL;
    *exit_now = false;
}

const struct backend_ops backend_none = {
    .name = "none",
    .on_start = none_start,
    .on_shutdown = none_shutdown,
};
