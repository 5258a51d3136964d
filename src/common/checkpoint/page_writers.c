#include "config.h"

#include "checkpoint/page_writers.h"

#include <stdlib.h>
#include <string.h>

/* A page's state: a rank, of the one node that all bytes come from so far; NONE; or,
 * where they come from several nodes, the rank that is chosen (-2 and below). */
#define NONE (-1)

static int32_t chosen(int rank)
{
    return -2 - rank;
}

static int rank_of(int32_t state)
{
    return state >= 0 ? state : -2 - state;
}

#define SHARE_PAGES 64         /* of a rank, at least: else the pages are smaller */
#define MAP_PAGES   (1u << 20) /* of a map that is no reason for larger ones */

uint64_t page_bytes_choose(uint64_t file_bytes, int n_ranks, uint64_t block_bytes)
{
    uint64_t share = file_bytes / (unsigned)n_ranks, page = PAGE_BYTES_MIN;

    while (page < PAGE_BYTES_MAX && share / SHARE_PAGES >= 2 * page &&
           (page < block_bytes || file_bytes / page > MAP_PAGES))
        page *= 2;
    return page;
}

int page_writers_init(struct page_writers *w, uint64_t file_bytes, uint64_t page_bytes,
                      const struct node_map *nodes)
{
    uint64_t n = file_bytes / page_bytes + 1;

    *w = (struct page_writers){.nodes = nodes, .page_bytes = page_bytes, .n_pages = n};
    w->state = malloc(n * sizeof *w->state);
    if (!w->state)
        return -1;
    for (uint64_t p = 0; p < n; p++)
        w->state[p] = NONE;
    return 0;
}

void page_writers_clear(struct page_writers *w)
{
    free(w->state);
    *w = (struct page_writers){0};
}

/* Among the ranks of a page the one whose number is least: another one for each page,
 * so that the pages of a tensor that is cut into columns go to all ranks alike. */
static uint64_t lot(uint64_t page, int rank)
{
    uint64_t x =
        page * 0x9e3779b97f4a7c15u ^ ((uint64_t)rank + 1) * 0xd6e8feb86659fd93u;

    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static bool draws_before(uint64_t page, int a, int b)
{
    uint64_t x = lot(page, a), y = lot(page, b);

    return x != y ? x < y : a < b;
}

static bool on_one_node(const struct page_writers *w, int a, int b)
{
    return w->nodes->of[a].node == w->nodes->of[b].node;
}

/* Whatever the order in which ranks are added, the same one is chosen. */
void page_writers_add(struct page_writers *w, uint64_t page, int rank)
{
    int32_t *state = &w->state[page];
    int had = rank_of(*state), pick;

    if (*state == NONE) {
        *state = rank;
    } else if (had != rank) {
        pick = draws_before(page, rank, had) ? rank : had;
        *state = *state >= 0 && on_one_node(w, rank, had) ? pick : chosen(pick);
    }
}

void page_writers_add_chunk(struct page_writers *w, const struct chunk *chunk, int rank)
{
    struct chunk piece = *chunk;
    uint64_t page;

    piece.to = piece.from;
    while (chunk_next_piece(chunk, w->page_bytes, &piece, &page))
        page_writers_add(w, page, rank);
}

void page_writers_claim(struct page_writers *w, uint64_t start, uint64_t end, int rank)
{
    for (uint64_t p = start / w->page_bytes; start < end && p * w->page_bytes < end;
         p++) {
        int32_t *state = &w->state[p];

        if (*state != NONE && (*state < 0 || !on_one_node(w, rank, *state)))
            *state = chosen(rank);
    }
}

int page_writers_of(const struct page_writers *w, uint64_t page)
{
    int32_t state = w->state[page];

    return state >= NONE ? -1 : rank_of(state);
}

bool chunk_next_piece(const struct chunk *chunk, uint64_t page_bytes,
                      struct chunk *piece, uint64_t *page)
{
    uint64_t base = chunk->tensor->offset, left, end;

    if (piece->to >= chunk->to)
        return false;
    piece->from = piece->to;
    *page = (base + slab_runs_at(&chunk->runs, piece->from, &left)) / page_bytes;
    end = slab_runs_find(&chunk->runs, (*page + 1) * page_bytes - base);
    piece->to = end < chunk->to ? end : chunk->to;
    return true;
}
