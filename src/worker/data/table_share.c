#include "data/table_share.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/expansion.h"
#include "data/reader.h"

/* What rank 0 sends first: how much follows, and which process owns the descriptors. */
struct share_header {
    uint64_t rows;
    uint64_t n_columns, n_extents, n_sources;
    pid_t owner;
};

static int table_allocate(struct table *t, const struct share_header *h,
                          struct error *err)
{
    t->columns = calloc(h->n_columns, sizeof *t->columns);
    t->extents = calloc(h->n_extents, sizeof *t->extents);
    t->sources = calloc(h->n_sources, sizeof *t->sources);
    if (!t->columns || !t->extents || !t->sources)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return 0;
}

/* Every rank gets the arrays of the table, the sources with rank 0's descriptors. */
static int table_broadcast(struct table *t, struct comm *node,
                           const struct share_header *h, struct error *err)
{
    if (node->ops->bcast(node, t->columns, h->n_columns * sizeof *t->columns, 0, err) <
            0 ||
        node->ops->bcast(node, t->extents, h->n_extents * sizeof *t->extents, 0, err) <
            0)
        return -1;
    return node->ops->bcast(node, t->sources, h->n_sources * sizeof *t->sources, 0,
                            err);
}

static int source_open_memory(const struct source *s, pid_t owner, struct error *err)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)owner, s->fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(
            err, RAYTRAIN_ESTORAGE,
            "%s: cannot open %s, the expanded rows in the memory of another "
            "worker of this node: %s; workers of a node must see each other "
            "in /proc (a container for each of them hides them)",
            s->path, path, strerror(errno));
    return fd;
}

/* Replace rank 0's descriptor by one of our own, of the same file. */
static int source_reopen(struct source *s, pid_t owner, struct error *err)
{
    int fd = s->anonymous ? source_open_memory(s, owner, err)
                          : reader_open_file(s->path, err);
    struct stat st;

    s->fd = -1;
    s->map = NULL;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || st.st_dev != s->dev || st.st_ino != s->ino ||
        (uint64_t)st.st_size != s->size ||
        (s->anonymous && !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))) {
        close(fd);
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "%s: replaced or changed while it was being opened", s->path);
    }
    s->fd = fd;
    return 0;
}

static int sources_reopen(struct table *t, pid_t owner, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; i < t->n_sources; i++)
        if (rc < 0)
            t->sources[i] = (struct source){.fd = -1};
        else
            rc = source_reopen(&t->sources[i], owner, err);
    return rc;
}

static int table_distribute(struct table *t, struct comm *node, struct error *err)
{
    struct share_header h = {.rows = t->rows,
                             .n_columns = t->n_columns,
                             .n_extents = t->n_extents,
                             .n_sources = t->n_sources,
                             .owner = getpid()};
    int rc = 0;

    if (node->ops->bcast(node, &h, sizeof h, 0, err) < 0)
        return -1;
    if (node->rank != 0)
        rc = table_allocate(t, &h, err);
    if (comm_agree(node, rc, err) < 0 || table_broadcast(t, node, &h, err) < 0)
        return -1;
    if (node->rank != 0) {
        t->rows = h.rows;
        t->n_columns = h.n_columns;
        t->n_extents = h.n_extents;
        t->n_sources = h.n_sources;
        rc = sources_reopen(t, h.owner, err);
    }
    /* Rank 0 may close its own only after all have opened theirs. */
    return comm_agree(node, rc, err);
}

int table_share(struct table *t, int rc, struct comm *node, struct error *err)
{
    bool alone = !node || node->size == 1;

    if (!alone)
        rc = comm_agree(node, rc, err);
    if (rc == 0 && !alone)
        rc = table_distribute(t, node, err);
    if (rc < 0)
        table_clear(t);
    else
        table_map(t);
    return rc;
}
