#include "config.h"

#include "checkpoint/chunk_walk.h"

void chunk_walk_plan(struct chunk_walk *walk, const raytrain_checkpoint *ck,
                     const struct plan *plan, int size)
{
    *walk = (struct chunk_walk){.tensors = ck->tensors,
                                .parts = plan->parts,
                                .n_parts = plan->n_parts,
                                .chunk_bytes = CHUNK_BYTES,
                                .owners = plan->ranks,
                                .size = size};
    for (uint64_t p = 0; p < plan->n_parts; p++)
        if (plan->ranks[p] < 0)
            walk->total += ck->tensors[plan->parts[p].tensor].bytes;
}

void chunk_walk_restored(struct chunk_walk *walk, const raytrain_checkpoint *ck)
{
    *walk = (struct chunk_walk){.tensors = ck->tensors,
                                .parts = ck->parts,
                                .n_parts = ck->n_parts,
                                .chunk_bytes = ck->head.chunk_bytes};
}

static void part_runs(const struct chunk_walk *walk, uint64_t part,
                      struct slab_runs *runs)
{
    const struct part *p = &walk->parts[part];
    const struct tensor_entry *e = &walk->tensors[p->tensor];

    slab_runs_init(runs, e->ndim, e->shape, e->element_bytes, &p->slab);
}

/* Replicated bytes are shared out in the order of the walk. */
static int chunk_owner(struct chunk_walk *walk, uint64_t bytes)
{
    int owner;

    if (!walk->owners)
        return -1;
    owner = walk->owners[walk->part];
    if (owner >= 0)
        return owner;
    owner = share_of(walk->done, walk->total, walk->size);
    walk->done += bytes;
    return owner;
}

static void chunk_fill(const struct chunk_walk *walk, uint64_t part, uint64_t from,
                       const struct slab_runs *runs, struct chunk *chunk)
{
    const struct part *p = &walk->parts[part];
    uint64_t left = runs->bytes - from;

    if (left > walk->chunk_bytes)
        left = walk->chunk_bytes;
    *chunk = (struct chunk){.index = p->first_hash + from / walk->chunk_bytes,
                            .part = part,
                            .tensor = &walk->tensors[p->tensor],
                            .runs = *runs,
                            .from = from,
                            .to = from + left,
                            .owner = -1};
}

void chunk_walk_at(const struct chunk_walk *walk, uint64_t part, uint64_t from,
                   struct chunk *chunk)
{
    struct slab_runs runs;

    part_runs(walk, part, &runs);
    chunk_fill(walk, part, from, &runs, chunk);
}

bool chunk_walk_next(struct chunk_walk *walk, struct chunk *chunk)
{
    for (;; walk->part++, walk->from = 0) {
        if (walk->part == walk->n_parts)
            return false;
        if (walk->from == 0)
            part_runs(walk, walk->part, &walk->runs);
        if (walk->from < walk->runs.bytes)
            break;
    }
    chunk_fill(walk, walk->part, walk->from, &walk->runs, chunk);
    chunk->owner = chunk_owner(walk, chunk->to - chunk->from);
    walk->from = chunk->to;
    return true;
}

int chunk_place(struct slab_writer *writer, const struct chunk *chunk, const void *data)
{
    const unsigned char *bytes = data;
    uint64_t from = chunk->from;

    while (from < chunk->to) {
        uint64_t left, offset = slab_runs_at(&chunk->runs, from, &left);
        uint64_t n = left < chunk->to - from ? left : chunk->to - from;

        if (slab_writer_add(writer, bytes, n, chunk->tensor->offset + offset) < 0)
            return -1;
        bytes += n;
        from += n;
    }
    return 0;
}

int chunk_read(int fd, const struct chunk *chunk, void *data)
{
    return slab_read(fd, chunk->tensor->offset, &chunk->runs, chunk->from, chunk->to,
                     data);
}

/* ---- Blocks -----------------------------------------------------------------------
 */

uint64_t block_room(const struct block_walk *walk)
{
    return BLOCK_FULL + walk->chunks.chunk_bytes;
}

/* The next chunk that has a key. */
static bool ahead_fill(struct block_walk *walk)
{
    while (!walk->has_ahead && chunk_walk_next(&walk->chunks, &walk->ahead))
        walk->has_ahead = walk->key(walk->arg, &walk->ahead) >= 0;
    return walk->has_ahead;
}

bool block_next(struct block_walk *walk, struct block *block)
{
    block->n = 0;
    block->bytes = 0;
    while (block->n < BLOCK_CHUNKS && block->bytes < BLOCK_FULL && ahead_fill(walk)) {
        int key = walk->key(walk->arg, &walk->ahead);

        if (block->n > 0 && key != block->key)
            break;
        block->key = key;
        block->chunks[block->n++] = walk->ahead;
        block->bytes += walk->ahead.to - walk->ahead.from;
        walk->has_ahead = false;
    }
    return block->n > 0;
}

int block_place(struct slab_writer *writer, const struct block *block, const void *data)
{
    const unsigned char *from = data;

    for (size_t i = 0; i < block->n; i++) {
        if (chunk_place(writer, &block->chunks[i], from) < 0)
            return -1;
        from += block->chunks[i].to - block->chunks[i].from;
    }
    return slab_writer_flush(writer);
}
