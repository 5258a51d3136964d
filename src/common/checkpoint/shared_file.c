/*
 * shared_file.c - the map of pages; what a rank writes itself; what ranks send to each
 * other.
 */
#include "config.h"

#include "checkpoint/shared_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/chunks.h"
#include "checkpoint/index.h"
#include "checkpoint/plan_share.h"
#include "checkpoint/slab_io.h"
#include "util/fs.h"

/* ---- The map of pages ---- */

/* A page's state: NONE; if all bytes so far come from one node, a rank of it; if they
 * come from several nodes, the chosen rank (-2 and below). */
#define NONE (-1)

static int32_t chosen(int rank)
{
    return -2 - rank;
}

static int rank_of(int32_t state)
{
    return state >= 0 ? state : -2 - state;
}

#define SHARE_PAGES 64 /* the fewest pages of a rank; otherwise they are smaller */
#define MAP_PAGES   (1u << 20) /* a map with more of them uses larger pages */

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

/* The rank with the smallest number is chosen for a page. The numbers differ between
 * pages, so that the pages of a tensor that is cut into columns are spread evenly. */
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

/* The choice does not depend on the order in which ranks are added. */
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
    struct chunk some = *chunk;
    uint64_t page;

    some.to = some.from;
    while (chunk_next_page(chunk, w->page_bytes, &some, &page))
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

bool chunk_next_page(const struct chunk *chunk, uint64_t page_bytes, struct chunk *some,
                     uint64_t *page)
{
    uint64_t base = chunk->tensor->offset, left, end;

    if (some->to >= chunk->to)
        return false;
    some->from = some->to;
    *page = (base + slab_stream_at(&chunk->stream, some->from, &left)) / page_bytes;
    end = slab_stream_find(&chunk->stream, (*page + 1) * page_bytes - base);
    some->to = end < chunk->to ? end : chunk->to;
    return true;
}

/* ---- Which rank writes which page ---- */

/* Rank 0: the tensors' chunks, then what it writes: the head and the metadata. */
static int pages_fill(struct shared_file *f, uint64_t file_bytes, struct error *err)
{
    struct chunk_walk walk = f->chunks;
    struct extent *extents = NULL;
    struct chunk c;
    size_t n = 0;

    if (metadata_extents(f->ck, file_bytes, &extents, &n, err) < 0)
        return -1;
    while (chunk_walk_next(&walk, &c))
        page_writers_add_chunk(&f->pages, &c, f->owner(f->arg, &c));
    page_writers_claim(&f->pages, 0, HEAD_BYTES, 0);
    for (size_t i = 0; i < n; i++)
        page_writers_claim(&f->pages, extents[i].start, extents[i].end, 0);
    free(extents);
    return chunk_walk_end(&walk, err);
}

int shared_file_begin(struct shared_file *f, uint64_t file_bytes, uint64_t block_bytes,
                      struct error *err)
{
    uint64_t page, sizes[] = {file_bytes, block_bytes};
    int rc;

    if (!f->nodes || f->nodes->n_nodes == 1)
        return 0;
    if (f->comm->ops->bcast(f->comm, sizes, sizeof sizes, 0, err) < 0)
        return -1;
    page = page_bytes_choose(sizes[0], f->comm->size, sizes[1]);
    rc = page_writers_init(&f->pages, sizes[0], page, f->nodes);
    if (rc < 0)
        error_no_memory(err);
    else if (f->comm->rank == 0)
        rc = pages_fill(f, sizes[0], err);
    if (comm_agree(f->comm, rc, err) < 0)
        return -1;
    return f->comm->ops->bcast(f->comm, f->pages.state,
                               f->pages.n_pages * sizeof *f->pages.state, 0, err);
}

/* One rank may write many pages of a chunk: note it only when the rank changes. */
static int chunk_needs(const struct shared_file *f, const struct chunk *chunk,
                       int owner, struct part_needs *needs)
{
    struct chunk some = *chunk;
    int last = owner;
    uint64_t page;

    some.to = some.from;
    while (chunk_next_page(chunk, f->pages.page_bytes, &some, &page)) {
        int writer = page_writers_of(&f->pages, page);

        if (writer < 0 || writer == owner || writer == last)
            continue;
        if (part_needs_add(needs, chunk->part, writer) < 0)
            return -1;
        last = writer;
    }
    return 0;
}

int shared_file_needs(const struct shared_file *f, struct part_needs *needs)
{
    struct chunk_walk walk = f->chunks;
    struct chunk c;
    int rc = 0;

    while (rc == 0 && chunk_walk_next(&walk, &c))
        rc = chunk_needs(f, &c, f->owner(f->arg, &c), needs);
    return rc;
}

/* ---- What a rank writes itself ---- */

int shared_file_open(struct shared_file *f, int fd)
{
    f->writer = slab_writer_create(fd);
    return f->writer ? 0 : -1;
}

int shared_file_write(struct shared_file *f, const struct chunk *chunk,
                      const void *data)
{
    const unsigned char *bytes = data;
    struct chunk some = *chunk;
    uint64_t page;
    int rc = 0;

    if (f->pages.n_pages == 0)
        return chunk_place(f->writer, chunk, data);
    some.to = some.from;
    while (rc == 0 && chunk_next_page(chunk, f->pages.page_bytes, &some, &page)) {
        int rank = page_writers_of(&f->pages, page);

        if (rank < 0 || rank == f->comm->rank)
            rc = chunk_place(f->writer, &some, bytes + (some.from - chunk->from));
    }
    return rc;
}

int shared_file_flush(struct shared_file *f)
{
    return slab_writer_flush(f->writer);
}

/* ---- What ranks send to each other ---- */

/* The bytes of one chunk that its owner sends to one other rank. Both compute it. */
struct transfer {
    struct chunk chunk;
    uint64_t bytes;
    int shift; /* receiver minus sender, modulo the number of ranks */
};

struct transfers {
    struct transfer *list;
    size_t n, room;
};

static int transfer_add(struct transfers *t, const struct transfer *transfer)
{
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 64;
        struct transfer *list = realloc(t->list, room * sizeof *list);

        if (!list)
            return -1;
        t->list = list;
        t->room = room;
    }
    t->list[t->n++] = *transfer;
    return 0;
}

static int transfer_compare(const void *a, const void *b)
{
    const struct transfer *p = a, *q = b;

    if (p->shift != q->shift)
        return p->shift < q->shift ? -1 : 1;
    if (p->chunk.part != q->chunk.part)
        return p->chunk.part < q->chunk.part ? -1 : 1;
    return (p->chunk.from > q->chunk.from) - (p->chunk.from < q->chunk.from);
}

/* One rank's side of the exchange. */
struct exchange {
    struct shared_file *f;
    struct transfers out, in;
    unsigned char *sent, *got; /* one message each */
    int rc;                    /* the first failure; the exchange continues in step */
};

/* The bytes of the chunk in the next page that rank `to` is chosen for. */
static bool chunk_page_of(const struct shared_file *f, const struct chunk *chunk,
                          int to, struct chunk *some)
{
    uint64_t page;

    while (chunk_next_page(chunk, f->pages.page_bytes, some, &page))
        if (page_writers_of(&f->pages, page) == to)
            return true;
    return false;
}

/* bytes[r] counts what goes to rank r; all zeros before and after. */
static int chunk_transfers(struct exchange *x, const struct chunk *chunk, int owner,
                           uint64_t *bytes)
{
    const struct shared_file *f = x->f;
    int rank = f->comm->rank, size = f->comm->size, rc = 0;
    bool own = owner == rank;
    struct chunk some = *chunk;
    uint64_t page;

    some.to = some.from;
    while (chunk_next_page(chunk, f->pages.page_bytes, &some, &page)) {
        int to = page_writers_of(&f->pages, page);

        if (to >= 0 && to != owner && (own || to == rank))
            bytes[to] += some.to - some.from;
    }
    for (int to = own ? 0 : rank; rc == 0 && to <= (own ? size - 1 : rank); to++) {
        struct transfer transfer = {*chunk, bytes[to], (to - owner + size) % size};

        if (bytes[to] > 0)
            rc = transfer_add(own ? &x->out : &x->in, &transfer);
        bytes[to] = 0;
    }
    return rc;
}

static int transfers_find(struct exchange *x, struct error *err)
{
    struct chunk_walk walk = x->f->chunks;
    uint64_t *bytes = calloc((size_t)x->f->comm->size, sizeof *bytes);
    int rc = bytes ? 0 : -1;
    struct chunk c;

    while (rc == 0 && chunk_walk_next(&walk, &c))
        rc = chunk_transfers(x, &c, x->f->owner(x->f->arg, &c), bytes);
    free(bytes);
    if (rc < 0)
        return error_no_memory(err);
    if (x->out.n > 1)
        qsort(x->out.list, x->out.n, sizeof *x->out.list, transfer_compare);
    if (x->in.n > 1)
        qsort(x->in.list, x->in.n, sizeof *x->in.list, transfer_compare);
    return chunk_walk_end(&walk, err);
}

/* A message holds transfers of one shift: up to this number of bytes, or one chunk. */
#define MESSAGE_BYTES (1u << 20)

/* The end of the message that begins with transfer `i`. */
static size_t message_end(const struct transfers *t, size_t i, uint64_t *bytes)
{
    int shift = t->list[i].shift;

    *bytes = t->list[i++].bytes;
    while (i < t->n && t->list[i].shift == shift &&
           *bytes + t->list[i].bytes <= MESSAGE_BYTES)
        *bytes += t->list[i++].bytes;
    return i;
}

/* After a failure the message holds arbitrary bytes; the file is abandoned then. */
static void message_pack(struct exchange *x, size_t i, size_t end, int to,
                         struct error *err)
{
    const struct shared_file *f = x->f;
    unsigned char *at = x->sent;

    for (; i < end; i++) {
        const struct chunk *c = &x->out.list[i].chunk;
        struct chunk some = *c;

        some.to = some.from;
        while (chunk_page_of(f, c, to, &some)) {
            if (x->rc == 0)
                x->rc = f->read(f->arg, &some, at, err);
            at += some.to - some.from;
        }
    }
}

static void message_write(struct exchange *x, size_t i, size_t end, struct error *err)
{
    struct shared_file *f = x->f;
    const unsigned char *at = x->got;
    int rc = 0;

    for (; rc == 0 && i < end; i++) {
        const struct chunk *c = &x->in.list[i].chunk;
        struct chunk some = *c;

        some.to = some.from;
        while (rc == 0 && chunk_page_of(f, c, f->comm->rank, &some)) {
            rc = chunk_place(f->writer, &some, at);
            at += some.to - some.from;
        }
    }
    if (rc == 0)
        rc = slab_writer_flush(f->writer);
    if (rc < 0)
        x->rc = fs_error(err, "write", f->path);
}

/* For one shift after the other, each rank sends to one rank and receives from one, as
 * long as there are messages. All ranks take the same steps, so that none waits
 * forever. */
static int messages_exchange(struct exchange *x, struct error *err)
{
    struct comm *comm = x->f->comm;
    size_t out = 0, in = 0;

    while (out < x->out.n || in < x->in.n) {
        int size = comm->size, shift = size, to = -1, from = -1;
        uint64_t n_out = 0, n_in = 0;
        size_t out_end = out, in_end = in;
        struct error lost;

        if (out < x->out.n)
            shift = x->out.list[out].shift;
        if (in < x->in.n && x->in.list[in].shift < shift)
            shift = x->in.list[in].shift;
        if (out < x->out.n && x->out.list[out].shift == shift) {
            to = (comm->rank + shift) % size;
            out_end = message_end(&x->out, out, &n_out);
            message_pack(x, out, out_end, to, err);
        }
        if (in < x->in.n && x->in.list[in].shift == shift) {
            from = (comm->rank - shift + size) % size;
            in_end = message_end(&x->in, in, &n_in);
        }
        if (comm->ops->sendrecv(comm, x->sent, n_out, to, x->got, n_in, from, &lost) <
            0)
            return error_set(err, lost.code, "%s", lost.text);
        if (x->rc == 0 && from >= 0)
            message_write(x, in, in_end, err);
        out = out_end;
        in = in_end;
    }
    return x->rc;
}

int shared_file_finish(struct shared_file *f, struct error *err)
{
    struct exchange x = {.f = f};
    uint64_t room = MESSAGE_BYTES + f->chunks.chunk_bytes;
    int rc = 0;

    if (f->pages.n_pages == 0)
        return 0;
    x.sent = malloc(room);
    x.got = malloc(room);
    if (!x.sent || !x.got)
        rc = error_no_memory(err);
    if (rc == 0)
        rc = transfers_find(&x, err);
    rc = comm_agree(f->comm, rc, err);
    if (rc == 0)
        rc = messages_exchange(&x, err);
    free(x.sent);
    free(x.got);
    free(x.out.list);
    free(x.in.list);
    return rc;
}

void shared_file_clear(struct shared_file *f)
{
    int saved = errno;

    page_writers_clear(&f->pages);
    slab_writer_destroy(f->writer);
    f->writer = NULL;
    errno = saved;
}
