/*
 * image_dirs.c - has each node a directory of its own? If two nodes see one, each would
 * write its part of a checkpoint over the other's.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replica/image_impl.h"
#include "util/fs.h"

/* Rank 0 chooses a name that no file has: malloc'ed, without the directory. */
static int mark_name(const struct image_dir *dir, char **name, struct error *err)
{
    char *path, *temp = NULL;

    *name = NULL;
    if (asprintf(&path, "%s/node", dir->path) >= 0) {
        temp = fs_temp_name(path);
        free(path);
    }
    if (temp)
        *name = strdup(strrchr(temp, '/') + 1);
    free(temp);
    return *name ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

/* COLLECTIVE: that name, on all ranks. */
static int mark_share(struct comm *comm, const struct image_tier *tier, char **name,
                      struct error *err)
{
    int rc = comm->rank == 0 ? mark_name(&tier->dir, name, err) : 0;
    uint64_t n;

    if (comm_agree(comm, rc, err) < 0)
        return -1;
    n = comm->rank == 0 ? strlen(*name) + 1 : 0;
    if (comm->ops->bcast(comm, &n, sizeof n, 0, err) < 0)
        return -1;
    return bytes_share(comm, (void **)name, (size_t)n, 0, err);
}

/* As this node sees it. */
static char *mark_of(const struct image_tier *tier, const char *name, int node)
{
    char *path;

    return asprintf(&path, "%s/%s-%d", tier->dir.path, name, node) < 0 ? NULL : path;
}

static int mark_make(const char *path, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return fs_error(err, "create", path);
    close(fd); /* nothing was written */
    return 0;
}

/* Only our own mark may be there. */
static int marks_look(const struct image_tier *tier, const char *name,
                      struct error *err)
{
    char host[256] = "this node";
    bool met = false;

    for (int k = 0; !met && k < tier->nodes->n_nodes; k++) {
        char *path = k == tier_place(tier)->node ? NULL : mark_of(tier, name, k);

        met = path && access(path, F_OK) == 0;
        free(path);
    }
    if (!met)
        return 0;
    gethostname(host, sizeof host - 1);
    return error_set(err, RAYTRAIN_EINVAL, "%s of node %s is another node's, too: %s",
                     tier->dir.path, host,
                     tier->dir.durable
                         ? "sync_config.staging_path must be storage of each node's "
                           "own; leave it out, or choose a local disk"
                         : "copies in memory need nodes that have their own; set "
                           "checkpoint_config.replicas to 0");
}

int image_dirs_check(struct comm *comm, const struct image_tier *tier,
                     struct error *err)
{
    char *name = NULL, *mine = NULL;
    int rc;

    if (tier->nodes->n_nodes == 1)
        return 0;
    rc = mark_share(comm, tier, &name, err);
    if (rc == 0 && tier_leader(tier)) {
        mine = mark_of(tier, name, tier_place(tier)->node);
        rc = mine ? mark_make(mine, err)
                  : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && mine)
        rc = marks_look(tier, name, err);
    rc = comm_agree(comm, rc, err);
    if (mine)
        unlink(mine);
    free(mine);
    free(name);
    return rc;
}
