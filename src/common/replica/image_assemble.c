/*
 * image_assemble.c - every node gets the chunks that it lacks: somebody who has them
 * reads them, verifies them and hands them to all.
 */
#include "config.h"

#include "replica/image_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/fault.h"
#include "util/fs.h"
#include "util/size.h"

struct assembly {
    struct comm *comm;
    const struct image_tier *tier;
    const struct survey *survey;
    int fd; /* this node's image */
    char *data;
    struct slab_writer *writer;
};

/* Whose chunk is it to hand out? -1 where every node has it. */
static int key_source(void *arg, const struct chunk *chunk)
{
    const struct assembly *a = arg;

    for (int k = 0; k < a->tier->nodes->n_nodes; k++)
        if (!survey_has(a->survey, k, chunk->index))
            return survey_source(a->survey, a->tier->nodes, chunk->index);
    return -1;
}

static int block_read(const struct assembly *a, const struct block *block,
                      struct error *err)
{
    char *to = a->data;

    for (size_t i = 0; i < block->n; i++) {
        if (survey_read(a->survey, &block->chunks[i], to, err) < 0)
            return -1;
        to += block->chunks[i].to - block->chunks[i].from;
    }
    return 0;
}

/* One rank a node writes, what the node lacks and no more: where the reader has failed,
 * what comes is no chunk, and must not take the place of one. */
static int block_keep(const struct assembly *a, const struct block *block,
                      struct error *err)
{
    const char *from = a->data;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < block->n; i++) {
        const struct chunk *c = &block->chunks[i];

        if (!survey_has(a->survey, tier_place(a->tier)->node, c->index))
            rc = chunk_place(a->writer, c, from);
        from += c->to - c->from;
    }
    if (rc == 0)
        rc = slab_writer_flush(a->writer);
    return rc < 0 ? fs_error(err, "write", a->tier->dir.path) : 0;
}

/* COLLECTIVE: a failure is agreed on at the end; until then all stay in step. */
static int blocks_exchange(struct assembly *a, struct block_walk *walk,
                           struct block *block, struct error *err)
{
    struct error lost;
    int rc = 0;

    while (block_next(walk, block)) {
        if (rc == 0 && a->comm->rank == block->key)
            rc = block_read(a, block, err);
        if (a->comm->ops->bcast(a->comm, a->data, block->bytes, block->key, &lost) < 0)
            return error_set(err, lost.code, "%s", lost.text);
        if (rc == 0 && tier_leader(a->tier))
            rc = block_keep(a, block, err);
    }
    return rc;
}

/* Has this node room for what it lacks? */
static int room_check(const struct image_tier *tier, const struct survey *survey,
                      struct error *err)
{
    char need_text[SIZE_TEXT_MAX], room_text[SIZE_TEXT_MAX];
    uint64_t need = 0, room = tier_room(tier);
    struct chunk_walk walk;
    struct chunk c;

    chunk_walk_restored(&walk, survey->index);
    while (chunk_walk_next(&walk, &c))
        if (!survey_has(survey, tier_place(tier)->node, c.index))
            need += c.to - c.from;
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    memset(held.bits, 0xff, survey->row);
    rc = held_write(&tier->dir, iteration, &survey->head, &held, err);
    free(held.bits);
    return rc;
}

int image_assemble(struct comm *comm, const struct image_tier *tier, int64_t iteration,
                   const struct survey *survey, struct error *err)
{
    struct assembly a = {.comm = comm, .tier = tier, .survey = survey, .fd = -1};
    struct block_walk walk = {.key = key_source, .arg = &a};
    struct block *block = malloc(sizeof *block);
    int rc = 0;

    chunk_walk_restored(&walk.chunks, survey->index);
    a.fd = image_open(&tier->dir, iteration, err);
    if (a.fd < 0)
        rc = -1;
    a.data = malloc(block_room(&walk));
    a.writer = slab_writer_create(a.fd);
    if (rc == 0 && (!block || !a.data || !a.writer))
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (rc == 0 && tier_leader(tier))
        rc = room_check(tier, survey, err);
    if (rc == 0 && fault_point("image.assemble", comm->rank) < 0)
        rc = fs_error(err, "write", tier->dir.path);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = blocks_exchange(&a, &walk, block, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0 && tier_leader(tier))
        rc = list_complete(tier, iteration, survey, err);
    rc = comm_agree(comm, rc, err);
    slab_writer_destroy(a.writer);
    free(a.data);
    free(block);
    if (a.fd >= 0)
        close(a.fd);
    return rc;
}
