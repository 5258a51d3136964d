#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_impl.h"

/* Each piece of a snapshot begins at a cache line. */
#define PIECE_ALIGN ((size_t)64)

/* How the chunks of replicated tensors are shared out. */
struct write_share {
    int size;
    uint64_t done, total; /* replicated bytes */
};

static struct write_share write_share_start(const raytrain_checkpoint *ck, int size)
{
    struct write_share sh = {.size = size};

    for (size_t i = 0; i < ck->n_tensors; i++)
        if (!ck->tensors[i].sharded)
            sh.total += ck->tensors[i].bytes;
    return sh;
}

/* Call once for each chunk of each replicated tensor, in order: whose is it? */
static int write_share_next(struct write_share *sh, uint64_t bytes)
{
    int rank = share_of(sh->done, sh->total, sh->size);

    sh->done += bytes;
    return rank;
}

uint64_t chunk_end(uint64_t from, uint64_t bytes)
{
    return bytes - from < CHUNK_BYTES ? bytes : from + CHUNK_BYTES;
}

/* Shares are in order, so that this rank's part of a replicated tensor is one range. */
static void range_find(const struct tensor_entry *e, struct write_share *share,
                       int rank, uint64_t *from, uint64_t *to)
{
    *from = *to = 0;
    for (uint64_t at = 0; at < e->bytes; at = chunk_end(at, e->bytes)) {
        uint64_t end = chunk_end(at, e->bytes);

        if (write_share_next(share, end - at) != rank)
            continue;
        if (*to == 0)
            *from = at;
        *to = end;
    }
}

int pieces_make(const raytrain_checkpoint *ck, int rank, int size,
                struct pieces *pieces, struct error *err)
{
    struct write_share share = write_share_start(ck, size);

    *pieces = (struct pieces){.list = calloc(ck->n_tensors + 1, sizeof(struct piece))};
    if (!pieces->list)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; i < ck->n_tensors; i++) {
        const struct tensor_entry *e = &ck->tensors[i];
        struct piece piece = {.tensor = e};
        struct slab_runs runs;

        slab_runs_init(&runs, e->ndim, e->shape, e->element_bytes, &e->slab);
        if (e->sharded)
            piece.to = runs.bytes;
        else
            range_find(e, &share, rank, &piece.from, &piece.to);
        if (piece.from == piece.to)
            continue;
        piece.data = (const unsigned char *)e->data + piece.from;
        pieces->n_chunks += chunks_of(piece.to - piece.from, CHUNK_BYTES);
        pieces->list[pieces->n++] = piece;
    }
    return 0;
}

static size_t piece_room(const struct piece *piece)
{
    size_t n = (size_t)(piece->to - piece->from);

    return (n + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
}

size_t pieces_snapshot_bytes(const struct pieces *pieces)
{
    size_t sum = 0;

    for (size_t i = 0; i < pieces->n; i++)
        sum += piece_room(&pieces->list[i]);
    return sum;
}

void pieces_snapshot(struct pieces *pieces, unsigned char *to)
{
    for (size_t i = 0; i < pieces->n; i++) {
        struct piece *piece = &pieces->list[i];

        memcpy(to, piece->data, (size_t)(piece->to - piece->from));
        piece->data = to;
        to += piece_room(piece);
    }
}

void pieces_clear(struct pieces *pieces)
{
    free(pieces->list);
    *pieces = (struct pieces){0};
}
