/*
 * chunks.c - walk through chunks in the order of the table, pack batches, and divide
 * the bytes that each rank writes. slab_io.c reads and writes them.
 */
#include "config.h"

#include "checkpoint/chunks.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/by_parts.h"
#include "checkpoint/part_reader.h"
#include "checkpoint/slab_io.h"

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
                                .chunk_bytes = ck->head.chunk_bytes};
    part_reader_start(&walk->reader, ck);
    hashes_start(&walk->hashes, ck);
}

/* 1: walk->part is the next one; 0: there are no more; -1. */
static int part_take(struct chunk_walk *walk)
{
    if (walk->reader.ck)
        return part_reader_next(&walk->reader, &walk->part, &walk->err);
    if (walk->next == walk->n_parts)
        return 0;
    walk->part = walk->parts[walk->next];
    return 1;
}

static bool part_next(struct chunk_walk *walk)
{
    int more = part_take(walk);
    const struct part *p = &walk->part;

    walk->rc = more < 0 ? -1 : 0;
    if (more <= 0)
        return false;
    part_stream_init(&walk->tensors[p->tensor], &p->slab, p->at, &walk->stream);
    walk->from = 0;
    walk->next++;
    return true;
}

/* Replicated bytes are shared among the ranks in the order of the walk. */
static int chunk_owner(struct chunk_walk *walk, uint64_t bytes)
{
    int owner;

    if (!walk->owners)
        return -1;
    owner = walk->owners[walk->next - 1];
    if (owner >= 0)
        return owner;
    owner = share_of(walk->done, walk->total, walk->size);
    walk->done += bytes;
    return owner;
}

bool chunk_walk_next(struct chunk_walk *walk, struct chunk *chunk)
{
    uint64_t n;

    while (walk->rc == 0 && walk->from == walk->stream.bytes)
        if (!part_next(walk))
            return false;
    if (walk->rc < 0)
        return false;
    n = walk->stream.bytes - walk->from;
    if (n > walk->chunk_bytes)
        n = walk->chunk_bytes;
    *chunk =
        (struct chunk){.index = walk->part.first_hash + walk->from / walk->chunk_bytes,
                       .part = walk->next - 1,
                       .tensor = &walk->tensors[walk->part.tensor],
                       .stream = walk->stream,
                       .from = walk->from,
                       .to = walk->from + n,
                       .owner = chunk_owner(walk, n)};
    walk->from = chunk->to;
    if (walk->reader.ck)
        walk->rc = table_get(walk->reader.ck, &walk->hashes, chunk->index, &chunk->hash,
                             &walk->err);
    return walk->rc == 0;
}

int chunk_walk_end(const struct chunk_walk *walk, struct error *err)
{
    if (walk->rc < 0 && err)
        *err = walk->err;
    return walk->rc;
}

int chunk_place(struct slab_writer *writer, const struct chunk *chunk, const void *data)
{
    const unsigned char *bytes = data;
    uint64_t from = chunk->from;

    while (from < chunk->to) {
        uint64_t left, offset = slab_stream_at(&chunk->stream, from, &left);
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
    return slab_read(fd, chunk->tensor->offset, &chunk->stream, chunk->from, chunk->to,
                     data);
}

/* ---- Batches ---- */

uint64_t batch_room(const struct batch_walk *walk)
{
    return BATCH_BYTES + walk->chunks.chunk_bytes;
}

/* The next chunk that has a key. */
static bool ahead_fill(struct batch_walk *walk)
{
    while (!walk->has_ahead && chunk_walk_next(&walk->chunks, &walk->ahead))
        walk->has_ahead = walk->key(walk->arg, &walk->ahead) >= 0;
    return walk->has_ahead;
}

bool batch_next(struct batch_walk *walk, struct batch *batch)
{
    batch->n = 0;
    batch->bytes = 0;
    while (batch->n < BATCH_CHUNKS && batch->bytes < BATCH_BYTES && ahead_fill(walk)) {
        int key = walk->key(walk->arg, &walk->ahead);

        if (batch->n > 0 && key != batch->key)
            break;
        batch->key = key;
        batch->chunks[batch->n++] = walk->ahead;
        batch->bytes += walk->ahead.to - walk->ahead.from;
        walk->has_ahead = false;
    }
    return batch->n > 0;
}

int batch_place(struct slab_writer *writer, const struct batch *batch, const void *data)
{
    const unsigned char *from = data;

    for (size_t i = 0; i < batch->n; i++) {
        if (chunk_place(writer, &batch->chunks[i], from) < 0)
            return -1;
        from += batch->chunks[i].to - batch->chunks[i].from;
    }
    return slab_writer_flush(writer);
}

/* ---- What one rank writes ---- */

/* Each share of a snapshot begins at a cache line. */
#define SHARE_ALIGN ((size_t)64)

/* The chunks of replicated tensors are shared evenly among the ranks. */
struct replicated {
    int size;
    uint64_t done, total; /* replicated bytes */
};

static struct replicated replicated_start(const raytrain_checkpoint *ck, int size)
{
    struct replicated r = {.size = size};

    for (size_t i = 0; i < ck->n_tensors; i++)
        if (!ck->tensors[i].sharded)
            r.total += ck->tensors[i].bytes;
    return r;
}

/* The rank that writes the next chunk; call it for each chunk of each replicated
 * tensor, in order. */
static int replicated_next(struct replicated *r, uint64_t bytes)
{
    int rank = share_of(r->done, r->total, r->size);

    r->done += bytes;
    return rank;
}

uint64_t chunk_end(uint64_t from, uint64_t bytes)
{
    return bytes - from < CHUNK_BYTES ? bytes : from + CHUNK_BYTES;
}

/* Shares are in order, so this rank's share of a replicated tensor is one range. */
static void range_find(const struct tensor_entry *e, struct replicated *replicated,
                       int rank, uint64_t *from, uint64_t *to)
{
    *from = *to = 0;
    for (uint64_t at = 0; at < e->bytes; at = chunk_end(at, e->bytes)) {
        uint64_t end = chunk_end(at, e->bytes);

        if (replicated_next(replicated, end - at) != rank)
            continue;
        if (*to == 0)
            *from = at;
        *to = end;
    }
}

int shares_make(const raytrain_checkpoint *ck, int rank, int size,
                struct shares *shares, struct error *err)
{
    struct replicated replicated = replicated_start(ck, size);

    *shares = (struct shares){.list = calloc(ck->n_tensors + 1, sizeof(struct share))};
    if (!shares->list)
        return error_no_memory(err);
    for (size_t i = 0; i < ck->n_tensors; i++) {
        const struct tensor_entry *e = &ck->tensors[i];
        struct share share = {.tensor = e};
        struct slab_stream stream;

        slab_stream_init(&stream, e->ndim, e->shape, e->element_bytes, &e->slab);
        if (e->sharded)
            share.to = e->elsewhere ? 0 : stream.bytes;
        else
            range_find(e, &replicated, rank, &share.from, &share.to);
        if (share.from == share.to)
            continue;
        share.data = (const unsigned char *)e->data + share.from;
        shares->n_chunks += chunks_of(share.to - share.from, CHUNK_BYTES);
        shares->list[shares->n++] = share;
    }
    return 0;
}

/* Shares are in the order of the tensors, of which each has one at most. */
const struct share *shares_find(const struct shares *shares,
                                const struct tensor_entry *tensor, uint64_t from,
                                uint64_t to)
{
    size_t low = 0, high = shares->n;
    const struct share *found;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (shares->list[mid].tensor < tensor)
            low = mid + 1;
        else
            high = mid;
    }
    found = &shares->list[low];
    if (low == shares->n || found->tensor != tensor || from < found->from ||
        to > found->to)
        return NULL;
    return found;
}

/* Host memory of the checkpoint stays as it is until the end: it needs no copy. */
static bool share_is_copied(const struct share *share, enum checkpoint_snapshot which)
{
    if (share->tensor->device != RAYTRAIN_HOST)
        return true;
    return which == SNAPSHOT_ALL && !share->tensor->memory.release;
}

static size_t share_room(const struct share *share, enum checkpoint_snapshot which)
{
    size_t n = (size_t)(share->to - share->from);

    if (!share_is_copied(share, which))
        return 0;
    return (n + SHARE_ALIGN - 1) / SHARE_ALIGN * SHARE_ALIGN;
}

size_t shares_snapshot_bytes(const struct shares *shares,
                             enum checkpoint_snapshot which)
{
    size_t sum = 0;

    for (size_t i = 0; i < shares->n; i++)
        sum += share_room(&shares->list[i], which);
    return sum;
}

/*
 * A snapshot is taken in three rounds. The copies from devices are started first, so that
 * they continue during those of host memory; among these, the ones for which training
 * waits come first.
 */
enum round { ROUND_CHANGES, ROUND_STAYS, ROUND_HOST, N_ROUNDS };

static enum round share_round(const struct share *share, bool all_stay)
{
    const struct tensor_entry *e = share->tensor;

    if (e->device == RAYTRAIN_HOST)
        return ROUND_HOST;
    return all_stay || e->memory.release ? ROUND_STAYS : ROUND_CHANGES;
}

static int share_copy(const struct share *share, enum round round, unsigned char *to,
                      const struct checkpoint_fetch *fetch, struct error *err)
{
    const struct tensor_entry *e = share->tensor;
    size_t n = (size_t)(share->to - share->from);

    if (round == ROUND_HOST)
        memcpy(to, share->data, n);
    else if (fetch->start(fetch->arg, e->device, e->device_id, share->data, to, n,
                          round == ROUND_STAYS, err) < 0)
        return error_prefix(err, "tensor '%s'", e->name);
    return 0;
}

int shares_snapshot(struct shares *shares, enum checkpoint_snapshot which,
                    unsigned char *to, bool all_stay,
                    const struct checkpoint_fetch *fetch, struct error *err)
{
    for (enum round round = 0; round < N_ROUNDS; round++) {
        for (size_t i = 0; i < shares->n; i++) {
            struct share *share = &shares->list[i];
            size_t room = share_room(share, which);

            if (room == 0 || share_round(share, all_stay) != round)
                continue;
            if (share_copy(share, round, to, fetch, err) < 0)
                return -1;
            share->data = to;
            to += room;
        }
    }
    return 0;
}

void shares_clear(struct shares *shares)
{
    free(shares->list);
    *shares = (struct shares){0};
}
