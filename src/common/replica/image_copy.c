/*
 * image_copy.c - copy chunks from the nodes' images to where they are needed: publish
 * (to storage), flush (survey and publish), assemble (to the nodes that lack them).
 */
#include "config.h"

#include "checkpoint/shared_file.h"
#include "replica/image_tier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/new_file.h"
#include "checkpoint/slab_io.h"
#include "util/fault.h"
#include "util/fs.h"
#include "util/size.h"

/* ---- Publish ---- */

/* In the steps of checkpoint/save.c: a rank of a node that has a chunk verifies and
 * copies it. */
struct publication {
    struct comm *comm;
    const struct image_tier *tier;
    const struct survey *survey;
    struct new_file file; /* its temporary name is the same on every rank */
    struct shared_file shared;
};

/* ---- Publish: the file, by rank 0 ---- */

/* Copy the metadata of this node's image, then the head with its mark. */
static int metadata_copy(const struct publication *p, struct error *err)
{
    const raytrain_checkpoint *index = p->survey->index;
    struct extent *extents = NULL;
    struct metadata_walk walk = {0};
    char *data = malloc(METADATA_BLOCK);
    int rc = data ? 0 : error_no_memory(err);

    if (rc == 0)
        rc = metadata_extents(index, index->head.file_bytes, &extents, &walk.n, err);
    walk.extents = extents;
    if (rc == 0 && fault_point("move.metadata", 0) < 0)
        rc = fs_error(err, "write", p->file.path);
    while (rc == 0 && metadata_next(&walk)) {
        size_t n = walk.block.end - walk.block.start;

        if (fs_pread_full(index->fd, data, n, walk.block.start) < 0)
            rc = checkpoint_read_error(index, err);
        else if (fs_pwrite_full(p->file.fd, data, n, walk.block.start) < 0)
            rc = fs_error(err, "write", p->file.path);
    }
    if (rc == 0 && fs_pwrite_full(p->file.fd, &index->head, sizeof index->head, 0) < 0)
        rc = fs_error(err, "write", p->file.path);
    free(extents);
    free(data);
    return rc;
}

static int copy_file_create(struct publication *p, struct error *err)
{
    if (new_file_name(&p->file, err) < 0)
        return -1;
    return new_file_create(&p->file, p->survey->head.file_bytes, err);
}

static int file_publish(struct publication *p, struct error *err)
{
    return metadata_copy(p, err) < 0 ? -1 : new_file_publish(&p->file, err);
}

/* ---- Publish: the chunks, by all ranks ---- */

static int name_bcast(struct publication *p, struct error *err)
{
    uint64_t n = p->file.temp ? strlen(p->file.temp) + 1 : 0;

    if (p->comm->ops->bcast(p->comm, &n, sizeof n, 0, err) < 0)
        return -1;
    return comm_bcast_alloc(p->comm, (void **)&p->file.temp, (size_t)n, 0, err);
}

static int chunk_source(void *arg, const struct chunk *chunk)
{
    const struct publication *p = arg;

    return survey_source(p->survey, chunk->index);
}

/* Bytes of a chunk that chunks_copy() has verified. */
static int chunk_read_again(void *arg, const struct chunk *some, void *to,
                            struct error *err)
{
    const struct publication *p = arg;
    const raytrain_checkpoint *index = p->survey->index;

    if (chunk_read(index->fd, some, to) < 0)
        return checkpoint_read_error(index, err);
    return 0;
}

static int chunks_copy(struct publication *p, struct error *err)
{
    char *data = malloc(p->survey->head.chunk_bytes);
    struct chunk_walk walk = p->shared.chunks;
    struct chunk c;
    int rc = 0;

    if (!data || shared_file_open(&p->shared, p->file.fd) < 0)
        rc = error_no_memory(err);
    while (rc == 0 && chunk_walk_next(&walk, &c)) {
        if (chunk_source(p, &c) != p->comm->rank)
            continue;
        rc = survey_read(p->survey, &c, data, err);
        if (rc == 0 && (shared_file_write(&p->shared, &c, data) < 0 ||
                        shared_file_flush(&p->shared) < 0))
            rc = fs_error(err, "write", p->file.path);
    }
    if (rc == 0)
        rc = chunk_walk_end(&walk, err);
    free(data);
    return rc;
}

/* COLLECTIVE: decide which rank copies what. */
static int writers_find(struct publication *p, struct error *err)
{
    const struct survey *survey = p->survey;
    struct stat st = {0};

    p->shared = (struct shared_file){.comm = p->comm,
                                     .nodes = p->tier->nodes,
                                     .ck = survey->index,
                                     .path = p->file.path,
                                     .owner = chunk_source,
                                     .read = chunk_read_again,
                                     .arg = p};
    chunk_walk_restored(&p->shared.chunks, survey->index);
    if (p->comm->rank == 0 && fstat(p->file.fd, &st) < 0)
        st.st_blksize = 0;
    return shared_file_begin(&p->shared, survey->head.file_bytes,
                             (uint64_t)st.st_blksize, err);
}

/* COLLECTIVE */
static int data_copy(struct publication *p, struct error *err)
{
    int rc = p->comm->rank == 0 ? 0 : new_file_join(&p->file, err);

    if (rc == 0)
        rc = chunks_copy(p, err);
    if (comm_agree(p->comm, rc, err) < 0)
        return -1;
    rc = shared_file_finish(&p->shared, err);
    if (rc == 0 &&
        (fault_point("move.data", p->comm->rank) < 0 || fsync(p->file.fd) < 0))
        rc = fs_error(err, "write", p->file.path);
    return comm_agree(p->comm, rc, err);
}

static int move_steps(struct publication *p, struct error *err)
{
    bool first = p->comm->rank == 0;
    int rc = first ? copy_file_create(p, err) : 0;

    if (comm_agree(p->comm, rc, err) < 0 || name_bcast(p, err) < 0 ||
        writers_find(p, err) < 0 || data_copy(p, err) < 0)
        return -1;
    if (first)
        rc = file_publish(p, err);
    rc = comm_agree(p->comm, rc, err);
    fault_point("move.end",
                p->comm->rank); /* a test may crash it here, after the decision */
    return rc;
}

int image_publish(struct comm *comm, const struct image_tier *tier,
                  const struct survey *survey, const char *path, struct error *err)
{
    struct publication p = {
        .comm = comm, .tier = tier, .survey = survey, .file = NEW_FILE(path)};
    int rc = move_steps(&p, err);

    shared_file_clear(&p.shared);
    new_file_clear(&p.file);
    return rc;
}

/* ---- Flush ---- */

static int flush_try(struct comm *comm, const struct image_tier *tier,
                     int64_t iteration, const char *path, bool verify,
                     struct error *err)
{
    struct survey survey = {0};
    int rc = survey_make(comm, tier, iteration, verify, &survey, err);

    if (rc == 0)
        rc = survey_complete(&survey, err);
    if (rc == 0) {
        rc = image_publish(comm, tier, &survey, path, err);
        if (rc < 0 && err->code == RAYTRAIN_ENOTFOUND)
            err->code = RAYTRAIN_ESTORAGE; /* ENOTFOUND is about images alone */
    }
    survey_clear(&survey);
    return rc;
}

int image_flush(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                const char *path, struct error *err)
{
    int rc = flush_try(comm, tier, iteration, path, false, err);

    if (rc < 0 && err->code == RAYTRAIN_ECORRUPT)
        rc = flush_try(comm, tier, iteration, path, true, err);
    return rc;
}

/* ---- Assemble ---- */

/* A rank that has a chunk which other nodes lack reads it, verifies it and broadcasts
 * it. */
struct assembly {
    struct comm *comm;
    const struct image_tier *tier;
    const struct survey *survey;
    int fd; /* this node's image */
    char *data;
    struct slab_writer *writer;
};

/* The rank that broadcasts a chunk; -1: every node has it. */
static int key_source(void *arg, const struct chunk *chunk)
{
    const struct assembly *a = arg;

    return survey_is_everywhere(a->survey, chunk->index)
               ? -1
               : survey_source(a->survey, chunk->index);
}

static int batch_read(const struct assembly *a, const struct batch *batch,
                      struct error *err)
{
    char *to = a->data;

    for (size_t i = 0; i < batch->n; i++) {
        if (survey_read(a->survey, &batch->chunks[i], to, err) < 0)
            return -1;
        to += batch->chunks[i].to - batch->chunks[i].from;
    }
    return 0;
}

/* One rank of each node writes, and only what the node lacks: if the reader has failed,
 * it sends arbitrary bytes, which must not replace a chunk. */
static int batch_keep(const struct assembly *a, const struct batch *batch,
                      struct error *err)
{
    const char *from = a->data;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < batch->n; i++) {
        const struct chunk *c = &batch->chunks[i];

        if (!survey_is_here(a->survey, c->index))
            rc = chunk_place(a->writer, c, from);
        from += c->to - c->from;
    }
    if (rc == 0)
        rc = slab_writer_flush(a->writer);
    return rc < 0 ? fs_error(err, "write", a->tier->dir.path) : 0;
}

/* COLLECTIVE: before each batch all learn whether a rank has failed. They have the same
 * batches, unless one of them fails to read. */
static int copy_batches_exchange(struct assembly *a, struct batch_walk *walk,
                                 struct batch *batch, struct error *err)
{
    int rc = 0;

    for (;;) {
        bool more = batch_next(walk, batch);

        if (rc == 0)
            rc = chunk_walk_end(&walk->chunks, err);
        if (comm_agree(a->comm, rc, err) < 0)
            return -1;
        if (!more)
            return 0;
        if (a->comm->rank == batch->key)
            rc = batch_read(a, batch, err);
        if (a->comm->ops->bcast(a->comm, a->data, batch->bytes, batch->key, err) < 0)
            return -1;
        if (rc == 0 && tier_leader(a->tier))
            rc = batch_keep(a, batch, err);
    }
}

/* Does this node have room for what it lacks? */
static int copy_room_check(const struct image_tier *tier, const struct survey *survey,
                           struct error *err)
{
    char need_text[SIZE_TEXT_MAX], room_text[SIZE_TEXT_MAX];
    uint64_t need = 0, room = tier_room(tier);
    struct chunk_walk walk;
    struct chunk c;

    chunk_walk_restored(&walk, survey->index);
    while (chunk_walk_next(&walk, &c))
        if (!survey_is_here(survey, c.index))
            need += c.to - c.from;
    if (chunk_walk_end(&walk, err) < 0)
        return -1;
    if (fault_point("assemble.room", tier->nodes->rank) == 0 && need <= room)
        return 0;
    return error_set(err, RAYTRAIN_EFIT, "%s lacks %s of a checkpoint, and has %s left",
                     tier->dir.path, size_format(need, need_text),
                     size_format(room, room_text));
}

static int list_complete(const struct image_tier *tier, int64_t iteration,
                         const struct survey *survey, struct error *err)
{
    struct held held = {.n_chunks = survey->n_chunks};
    int rc;

    held.bits = malloc(survey->row + 1);
    if (!held.bits)
        return error_no_memory(err);
    memset(held.bits, 0xff, survey->row);
    rc = held_write(&tier->dir, iteration, &survey->head, &held, err);
    free(held.bits);
    return rc;
}

int image_assemble(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                   const struct survey *survey, struct error *err)
{
    struct assembly a = {.comm = comm, .tier = tier, .survey = survey, .fd = -1};
    struct batch_walk walk = {.key = key_source, .arg = &a};
    struct batch *batch = malloc(sizeof *batch);
    int rc = 0;

    chunk_walk_restored(&walk.chunks, survey->index);
    a.fd = image_open(&tier->dir, iteration, err);
    if (a.fd < 0)
        rc = -1;
    a.data = malloc(batch_room(&walk));
    a.writer = slab_writer_create(a.fd);
    if (rc == 0 && (!batch || !a.data || !a.writer))
        rc = error_no_memory(err);
    if (rc == 0 && tier_leader(tier))
        rc = copy_room_check(tier, survey, err);
    if (rc == 0 && fault_point("image.assemble", comm->rank) < 0)
        rc = fs_error(err, "write", tier->dir.path);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = copy_batches_exchange(&a, &walk, batch, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && tier_leader(tier))
        rc = list_complete(tier, iteration, survey, err);
    rc = comm_agree(comm, rc, err);
    slab_writer_destroy(a.writer);
    free(a.data);
    free(batch);
    if (a.fd >= 0)
        close(a.fd);
    return rc;
}
