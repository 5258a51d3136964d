/*
 * image_publish.c - a complete set of node images to storage, by the protocol of
 * DESIGN §7: every chunk is copied, and verified, by a rank of a node that has it.
 */
#include "config.h"

#include "store/image_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/fault.h"
#include "util/fs.h"

struct move {
    struct comm *comm;
    const struct image_tier *tier;
    const struct survey *survey;
    struct new_file file; /* its temporary name is the same on every rank */
};

/* ---- Rank 0: the file -------------------------------------------------------------
 */

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
             metadata_place(m->file.fd, gaps, n, metadata, &index->head) < 0)
        fs_error(err, "write", m->file.path);
    else
        rc = 0;
    free(metadata);
    free(gaps);
    return rc;
}

static int file_create(struct move *m, struct error *err)
{
    if (new_file_name(&m->file, err) < 0)
        return -1;
    return new_file_create(&m->file, m->survey->head.file_bytes, err);
}

static int file_publish(struct move *m, struct error *err)
{
    return metadata_copy(m, err) < 0 ? -1 : new_file_publish(&m->file, err);
}

/* ---- All ranks: the chunks --------------------------------------------------------
 */

static int name_share(struct move *m, struct error *err)
{
    uint64_t n = m->file.temp ? strlen(m->file.temp) + 1 : 0;

    if (m->comm->ops->bcast(m->comm, &n, sizeof n, 0, err) < 0)
        return -1;
    return bytes_share(m->comm, (void **)&m->file.temp, (size_t)n, 0, err);
}

static int chunks_copy(struct move *m, struct error *err)
{
    char *data = malloc(m->survey->head.chunk_bytes);
    struct slab_writer *w = slab_writer_create(m->file.fd);
    struct chunk_walk walk;
    struct chunk c;
    int rc = data && w ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    chunk_walk_restored(&walk, m->survey->index);
    while (rc == 0 && chunk_walk_next(&walk, &c)) {
        if (survey_source(m->survey, m->tier->nodes, c.index) != m->comm->rank)
            continue;
        rc = survey_read(m->survey, &c, data, err);
        if (rc == 0 && (chunk_place(w, &c, data) < 0 || slab_writer_flush(w) < 0))
            rc = fs_error(err, "write", m->file.path);
    }
    if (rc == 0 &&
        (fault_point("move.data", m->comm->rank) < 0 || fsync(m->file.fd) < 0))
        rc = fs_error(err, "write", m->file.path);
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
    rc = first ? 0 : new_file_join(&m->file, err);
    if (rc == 0)
        rc = chunks_copy(m, err);
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
        .comm = comm, .tier = tier, .survey = survey, .file = NEW_FILE(path)};
    int rc = move_steps(&m, err);

    new_file_clear(&m.file);
    return rc;
}
