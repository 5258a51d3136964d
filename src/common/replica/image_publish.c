/*
 * image_publish.c - a complete set of node images to storage, by the protocol of
 * checkpoint/save.c: every chunk is copied, and verified, by a rank of a node that has
 * it.
 */
#include "config.h"

#include "checkpoint/shared_file.h"
#include "replica/image_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fault.h"
#include "util/fs.h"

struct move {
    struct comm *comm;
    const struct image_tier *tier;
    const struct survey *survey;
    struct new_file file; /* its temporary name is the same on every rank */
    struct shared_file shared;
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

static int chunk_source(void *arg, const struct chunk *chunk)
{
    const struct move *m = arg;

    return survey_source(m->survey, m->tier->nodes, chunk->index);
}

/* Some of a chunk that chunks_copy() has verified. */
static int chunk_read_again(void *arg, const struct chunk *piece, void *to,
                            struct error *err)
{
    const struct move *m = arg;
    const raytrain_checkpoint *index = m->survey->index;

    if (chunk_read(index->fd, piece, to) < 0)
        return checkpoint_read_error(index, err);
    return 0;
}

static int chunks_copy(struct move *m, struct error *err)
{
    char *data = malloc(m->survey->head.chunk_bytes);
    struct chunk_walk walk = m->shared.chunks;
    struct chunk c;
    int rc = 0;

    if (!data || shared_file_open(&m->shared, m->file.fd) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    while (rc == 0 && chunk_walk_next(&walk, &c)) {
        if (chunk_source(m, &c) != m->comm->rank)
            continue;
        rc = survey_read(m->survey, &c, data, err);
        if (rc == 0 && (shared_file_write(&m->shared, &c, data) < 0 ||
                        shared_file_flush(&m->shared) < 0))
            rc = fs_error(err, "write", m->file.path);
    }
    free(data);
    return rc;
}

/* COLLECTIVE: which rank copies what of which page? */
static int writers_find(struct move *m, struct error *err)
{
    const struct survey *survey = m->survey;
    struct stat st = {0};

    m->shared = (struct shared_file){.comm = m->comm,
                                     .nodes = m->tier->nodes,
                                     .ck = survey->index,
                                     .path = m->file.path,
                                     .owner = chunk_source,
                                     .read = chunk_read_again,
                                     .arg = m};
    chunk_walk_restored(&m->shared.chunks, survey->index);
    if (m->comm->rank == 0 && fstat(m->file.fd, &st) < 0)
        st.st_blksize = 0;
    return shared_file_begin(&m->shared, survey->head.file_bytes,
                             (uint64_t)st.st_blksize, err);
}

/* COLLECTIVE */
static int data_copy(struct move *m, struct error *err)
{
    int rc = m->comm->rank == 0 ? 0 : new_file_join(&m->file, err);

    if (rc == 0)
        rc = chunks_copy(m, err);
    if (comm_agree(m->comm, rc, err) < 0)
        return -1;
    rc = shared_file_finish(&m->shared, err);
    if (rc == 0 &&
        (fault_point("move.data", m->comm->rank) < 0 || fsync(m->file.fd) < 0))
        rc = fs_error(err, "write", m->file.path);
    return comm_agree(m->comm, rc, err);
}

static int move_steps(struct move *m, struct error *err)
{
    bool first = m->comm->rank == 0;
    int rc = first ? file_create(m, err) : 0;

    if (comm_agree(m->comm, rc, err) < 0 || name_share(m, err) < 0 ||
        writers_find(m, err) < 0 || data_copy(m, err) < 0)
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

    shared_file_clear(&m.shared);
    new_file_clear(&m.file);
    return rc;
}

/* ---- Survey and publish -----------------------------------------------------------
 */

static int move_try(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                    const char *path, bool verify, struct error *err)
{
    struct survey survey = {0};
    int rc = survey_make(comm, tier, iteration, verify, &survey, err);

    if (rc == 0)
        rc = survey_complete(&survey, err);
    if (rc == 0) {
        rc = image_publish(comm, tier, &survey, path, err);
        if (rc < 0 && err->code == RAYTRAIN_ENOTFOUND)
            err->code = RAYTRAIN_ESTORAGE; /* it is not the images that are not found */
    }
    survey_clear(&survey);
    return rc;
}

int image_move(struct comm *comm, const struct image_tier *tier, int64_t iteration,
               const char *path, struct error *err)
{
    int rc = move_try(comm, tier, iteration, path, false, err);

    if (rc < 0 && err->code == RAYTRAIN_ECORRUPT)
        rc = move_try(comm, tier, iteration, path, true, err);
    return rc;
}
