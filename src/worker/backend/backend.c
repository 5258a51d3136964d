/*
 * backend.c - the table of backends.
 */
#include "backend/backend.h"

#include <string.h>

static const struct backend_ops *const backends[] = {
    &backend_mpi,
    &backend_none,
};

int backend_find(const char *name, const struct backend_ops **out, struct error *err)
{
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (strcmp(name, backends[i]->name) == 0) {
            *out = backends[i];
            return 0;
        }
    }
    *out = NULL;
    return error_set(
        err, RAYTRAIN_ENOTSUP,
        "there is no backend '%.100s' in this version; there are: mpi, none", name);
}
