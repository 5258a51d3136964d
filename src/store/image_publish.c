/*
 * image_publish.c - a complete set of node images to storage, by the protocol of
 * DESIGN §7: every chunk is copied, and verified, by a rank of a node that has it.
 */
#include "config.h"

#include "store/image_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/fault.h"
#include "util/fs.h"
#include "util/size.h"

struct move {
    struct comm *comm;
    const struct image_tier *tier;
    const struct survey *survey;
    const char *path;
    char *temp; /* its name, on every rank; NULL once it is published */
    int fd;
};

/* ---- Rank 0: the file -------------------------------------------------------------
 */

static int space_reserve(const struct move *m)
{
    off_t bytes = (off_t)m->survey->head.file_bytes;

    if (fallocate(m->fd, 0, 0, bytes) == 0)
        return 0;
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR || errno == EINVAL)
        return ftruncate(m->fd, bytes);
    return -1;
}

static int file_create(struct move *m, struct error *err)
{
    char size[SIZE_TEXT_MAX];

    m->temp = fs_temp_name(m->path);
    if (!m->temp)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (fault_point("move.create", 0) == 0)
        m->fd = open(m->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (m->fd < 0) {
        fs_error(err, "create", m->temp);
        free(m->temp); /* not ours to remove */
        m->temp = NULL;
        return -1;
    }
    if (space_reserve(m) == 0)
        return 0;
    fs_error(err, "write", m->path);
    return error_prefix(err, "a checkpoint of %s",
                        size_format(m->survey->head.file_bytes, size));
}

/* The metadata of this node's image, then the head with its mark. */
static int metadata_copy(const struct move *m, struct error *err)
{
    const raytrain_checkpoint *index = m->survey->index;
    struct extent *gaps = NULL;
    size_t n, bytes;
    char *metadata;
    int rc = -1;

    if (metadata_extents(index, index->head.file_bytes, &gaps, &n, &bytes, err) < 0)
        return -1;
    metadata = malloc(bytes + 1);
    if (!metadata)
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    else if (metadata_read(index->fd, gaps, n, metadata) < 0)
        fs_error(err, "read", index->path);
    else if (fault_point("move.metadata", 0) < 0 ||
             metadata_place(m->fd, gaps, n, metadata, &index->head) < 0)
        fs_error(err, "write", m->path);
    else
        rc = 0;
    free(metadata);
    free(gaps);
    return rc;
}

static int file_publish(struct move *m, struct error *err)
{
    int rc;

    if (metadata_copy(m, err) < 0)
        return -1;
    if (fault_point("move.sync", 0) < 0 || fsync(m->fd) < 0)
        return fs_error(err, "write", m->path);
    rc = close(m->fd);
    m->fd = -1;
    if (rc < 0 || fault_point("move.rename", 0) < 0 || rename(m->temp, m->path) < 0)
        return fs_error(err, "publish", m->path);
    free(m->temp);
    m->temp = NULL;
    return fs_sync_parent(m->path, err);
}

/* ---- All ranks: the chunks --------------------------------------------------------
 */

static int name_share(struct move *m, struct error *err)
{
    uint64_t n = m->temp ? strlen(m->temp) + 1 : 0;

    if (m->comm->ops->bcast(m->comm, &n, sizeof n, 0, err) < 0)
        return -1;
    return bytes_share(m->comm, (void **)&m->temp, (size_t)n, 0, err);
}

static int chunks_copy(struct move *m, struct error *err)
{
    char *data = malloc(m->survey->head.chunk_bytes);
    struct slab_writer *w = slab_writer_create(m->fd);
    struct chunk_walk walk;
    struct chunk c;
    int rc = data && w ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    chunk_walk_restored(&walk, m->survey->index);
    while (rc == 0 && chunk_walk_next(&walk, &c)) {
        if (survey_source(m->survey, m->tier->nodes, c.index) != m->comm->rank)
            continue;
        rc = survey_read(m->survey, &c, data, err);
        if (rc == 0 && (chunk_place(w, &c, data) < 0 || slab_writer_flush(w) < 0))
            rc = fs_error(err, "write", m->path);
    }
    if (rc == 0 && (fault_point("move.data", m->comm->rank) < 0 || fsync(m->fd) < 0))
        rc = fs_error(err, "write", m->path);
    slab_writer_destroy(w);
    free(data);
    return rc;
}

static int move_steps(struct move *m, struct error *err)
{
    bool first = m->comm->rank == 0;
    int rc = first ? file_create(m, err) : 0;

    if (comm_agree(m->comm, rc, err) < 0 || name_share(m, err) < 0)
        return -1;
    if (m->fd < 0)
        m->fd = open(m->temp, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    rc = m->fd < 0 ? fs_error(err, "open", m->temp) : chunks_copy(m, err);
    if (comm_agree(m->comm, rc, err) < 0)
        return -1;
    if (first)
        rc = file_publish(m, err);
    rc = comm_agree(m->comm, rc, err);
    fault_point("move.end", m->comm->rank); /* for death alone: it is decided */
    return rc;
}

int image_publish(struct comm *comm, const struct image_tier *tier,
                  const struct survey *survey, const char *path, struct error *err)
{
    struct move m = {
        .comm = comm, .tier = tier, .survey = survey, .path = path, .fd = -1};
    int rc = move_steps(&m, err);

    if (m.fd >= 0)
        close(m.fd);
    if (rc < 0 && comm->rank == 0 && m.temp)
        unlink(m.temp);
    free(m.temp);
    return rc;
}
