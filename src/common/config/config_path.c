#include "config/config_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/quote.h"

int path_make_absolute(char **path, struct error *err)
{
    const char *rest = *path;
    char cwd[PATH_MAX], *joined;

    if (!rest || *rest == '/')
        return 0;
    if (!getcwd(cwd, sizeof cwd))
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "cannot find the working directory: %s", strerror(errno));
    while (rest[0] == '.' && rest[1] == '/')
        rest += 1 + strspn(rest + 1, "/");
    if (asprintf(&joined, "%s%s%s", cwd, strcmp(cwd, "/") ? "/" : "", rest) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    free(*path);
    *path = joined;
    return 0;
}

int path_check_file(const char *what, const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct stat st;

    if (stat(path, &st))
        return error_set(
            err,
            errno == ENOENT || errno == ENOTDIR ? RAYTRAIN_ENOTFOUND : RAYTRAIN_EINVAL,
            "%s: cannot find %s: %s", what, quote(path, quoted), strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: %s is a directory, a file is needed", what,
                         quote(path, quoted));
    if (!S_ISREG(st.st_mode))
        return error_set(err, RAYTRAIN_EINVAL, "%s: %s is not a regular file", what,
                         quote(path, quoted));
    if (access(path, R_OK))
        return error_set(err, RAYTRAIN_EINVAL, "%s: cannot read %s: %s", what,
                         quote(path, quoted), strerror(errno));
    return 0;
}
