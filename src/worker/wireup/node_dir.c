/* node_dir.c - makes and removes the private directory of a worker on its node. */
#include "wireup/node_dir.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/private_dir.h"

/* Inside a directory that another process cleans up. */
static bool dir_borrow(struct node_dir *d, size_t most)
{
    const char *parent = getenv("PMIX_SERVER_TMPDIR");
    struct stat st;

    if (!parent || parent[0] != '/' || lstat(parent, &st) < 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return false;
    return (size_t)snprintf(d->path, sizeof d->path, "%s/worker-XXXXXX", parent) <=
               most &&
           mkdtemp(d->path);
}

int node_dir_make(struct node_dir *d, size_t most, struct error *err)
{
    char tried[PATH_MAX];

    d->hold = -1;
    if (dir_borrow(d, most))
        return 0;
    d->path[0] = '\0';
    d->hold = private_dir_make(tried, most);
    if (d->hold < 0)
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "cannot make the directory %s: %s: set TMPDIR to a directory "
                         "that you can write to",
                         tried, strerror(errno));
    memcpy(d->path, tried, sizeof tried);
    return 0;
}

void node_dir_remove(struct node_dir *d)
{
    if (d->path[0])
        fs_remove_tree(d->path, NULL);
    if (d->hold >= 0)
        close(d->hold);
    *d = (struct node_dir)NODE_DIR_INIT;
}
