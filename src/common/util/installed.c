#include "util/installed.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int installed_program(const char *name, char *path, size_t size, struct error *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n > 0) {
        self[n] = '\0';
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(self, '/');

            if (!slash)
                break;
            *slash = '\0';
        }
        if ((size_t)snprintf(path, size, "%s/libexec/raytrain/%s", self, name) < size &&
            access(path, X_OK) == 0)
            return 0;
    }
    snprintf(path, size, "%s/%s", RAYTRAIN_LIBEXECDIR, name);
    if (access(path, X_OK) == 0)
        return 0;
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "cannot find %s (looked at %s): is raytrain installed completely?",
                     name, path);
}
