/*
 * backend.c - the table of backends, and the one without a framework.
 */
#include "backend/backend.h"

#include <string.h>

/* ---- "none": one worker, which communicates with itself ---- */

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
    .on_start = none_start,
    .on_shutdown = none_shutdown,
};

/* ---- The table ---- */

#define BACKEND_ENTRY(id, ...) {#id, &backend_##id},

static const struct {
    const char *name;
    const struct backend_ops *ops;
} backends[] = {BACKENDS(BACKEND_ENTRY)};

#define BACKEND_TEXT(id, ...) ", " #id
#define N_BACKENDS (sizeof backends / sizeof backends[0])

int backend_find(const char *name, const struct backend_ops **out, struct error *err)
{
    static const char known[] = BACKENDS(BACKEND_TEXT);

    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (strcmp(name, backends[i].name) == 0) {
            *out = backends[i].ops;
            return 0;
        }
    }
    *out = NULL;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "there is no backend '%.100s' in this version; it has: %s", name,
                     known + 2);
}

const char *backend_name(const struct backend_ops *ops)
{
    for (size_t i = 0; i < N_BACKENDS; i++)
        if (backends[i].ops == ops)
            return backends[i].name;
    return "?";
}
