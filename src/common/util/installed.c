/*
 * installed.c - look for a helper program, or the Python module: near this program,
 * then where it was configured to be.
 */
#include "util/installed.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool program_is_there(char *path, size_t size, const char *dir,
                             const char *below, const char *name)
{
    return (size_t)snprintf(path, size, "%s/%s%s", dir, below, name) < size &&
           access(path, X_OK) == 0;
}

/* Cut the last component off a path. */
static void path_up(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = '\0';
}

int installed_program(const char *name, char *path, size_t size, struct error *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n > 0) {
        self[n] = '\0';
        path_up(self);
        /* This program is in libexec as well */
        if (program_is_there(path, size, self, "", name))
            return 0;
        path_up(self);
        if (program_is_there(path, size, self, "libexec/raytrain/", name))
            return 0;
    }
    if (program_is_there(path, size, RAYTRAIN_LIBEXECDIR, "", name))
        return 0;
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "cannot find %s (looked at %s): is raytrain installed completely?",
                     name, path);
}

/* PREFIX/libexec/raytrain/PROGRAM -> PREFIX/share/raytrain/python, so that an
 * installed tree can be moved. */
void installed_python(char dir[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n > 0) {
        self[n] = '\0';
        for (int up = 0; up < 3; up++)
            path_up(self);
        if ((size_t)snprintf(dir, PATH_MAX, "%s/share/raytrain/python", self) <
                PATH_MAX &&
            access(dir, R_OK | X_OK) == 0)
            return;
    }
    snprintf(dir, PATH_MAX, "%s/python", RAYTRAIN_PKGDATADIR);
}
