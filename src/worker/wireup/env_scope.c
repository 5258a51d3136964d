/* env_scope.c - sets variables that the user has not set, and removes them again. */
#include "config.h"

#include "wireup/env_scope.h"

#include <stdlib.h>

void env_scope_set(struct env_scope *s, const char *name, const char *value)
{
    if (getenv(name) || s->n == sizeof s->names / sizeof s->names[0])
        return;
    if (setenv(name, value, 0) == 0)
        s->names[s->n++] = name;
}

void env_scope_end(struct env_scope *s)
{
    while (s->n > 0)
        unsetenv(s->names[--s->n]);
}

void env_scope_set_hwloc(struct env_scope *s)
{
    env_scope_set(s, "HWLOC_COMPONENTS", "-linux:pci,-linux:io");
    env_scope_set(s, "HWLOC_PLUGINS_PATH", "/dev/null");
}
