/* group_file.c - write and read the file: a line with the names of nodes, and a line
 * with their ranks. */
#include "pmix/group_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/fs.h"

static char *file_in(const char *dir, struct error *err)
{
    char *path;

    if (asprintf(&path, "%s/group", dir) >= 0)
        return path;
    error_no_memory(err);
    return NULL;
}

int group_file_write(const char *dir, const char *hosts, const char *ranks,
                     struct error *err)
{
    char *path = file_in(dir, err), *text = NULL;
    int n, rc = -1;

    if (!path)
        return -1;
    n = asprintf(&text, "%s\n%s\n", hosts, ranks);
    if (n < 0)
        error_no_memory(err);
    else
        rc = fs_replace(path, text, (size_t)n, 0600, err);
    if (n >= 0)
        free(text);
    free(path);
    return rc;
}

int group_file_read(const char *dir, char **text, const char **hosts,
                    const char **ranks, struct error *err)
{
    char *path = file_in(dir, err), *rest;
    int rc = path ? fs_read(path, text, NULL, err) : -1;

    if (rc == 0) {
        rest = *text;
        *hosts = strsep(&rest, "\n");
        *ranks = strsep(&rest, "\n");
        if (!*ranks || !rest) {
            free(*text);
            rc = error_set(err, RAYTRAIN_EINVAL, "%s is not complete", path);
        }
    }
    free(path);
    return rc;
}
