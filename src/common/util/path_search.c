/* path_search.c - search the directories of PATH in order, as execvp(3) does. */
#include "config.h"

#include "util/path_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *path_search(const char *name)
{
    const char *dirs = getenv("PATH");

    for (const char *dir = dirs ? dirs : "/usr/bin:/bin"; dir;) {
        size_t n = strcspn(dir, ":");
        char *candidate;
        struct stat st;

        if (asprintf(&candidate, "%.*s%s%s", (int)n, dir, n ? "/" : "", name) < 0)
            return NULL;
        if (!stat(candidate, &st) && S_ISREG(st.st_mode) && !access(candidate, X_OK))
            return candidate;
        free(candidate);
        dir = dir[n] ? dir + n + 1 : NULL;
    }
    return NULL;
}
