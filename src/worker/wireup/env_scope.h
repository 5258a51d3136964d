/*
 * env_scope.h - environment variables that are set while a library starts, and removed
 * before another library or a child could inherit them. What the user has set is never
 * touched. One scope at a time, before other threads read the environment.
 */
#ifndef RAYTRAIN_WIREUP_ENV_SCOPE_H
#define RAYTRAIN_WIREUP_ENV_SCOPE_H

#include <stddef.h>

struct env_scope {
    const char *names[8]; /* those that were set, string constants */
    size_t n;
};

/* If it cannot be set, the library starts as it would without. */
void env_scope_set(struct env_scope *s, const char *name, const char *value);
void env_scope_end(struct env_scope *s);

/*
 * PMIx and MPI examine the machine through hwloc when they start. Without its plugins
 * and its search for I/O devices, which neither of them uses here, a worker starts in
 * two thirds of the time.
 */
void env_scope_set_hwloc(struct env_scope *s);

#endif
