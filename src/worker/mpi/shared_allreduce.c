/*
 * shared_allreduce.c - see shared_allreduce.h.
 *
 * The only words between ranks are two counters of each: how many reductions it has
 * made ready, and of how many it has combined its part. A rank's numbers are written
 * before it counts up (release) and read after the count was seen (acquire).
 */
#include "config.h"

#include "mpi/shared_allreduce.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/shared_block.h"

#define LINE 64 /* bytes of a cache line */

/* What is combined at a time: all of it stays in the first cache between the ranks. */
#define PIECE_BYTES ((size_t)8 * 1024)

/* What a rank says at the head of its block, and nobody else writes. */
enum word { READY, COMBINED, WORDS };
struct counter {
    _Alignas(LINE) _Atomic uint64_t reductions;
};
#define HEAD_BYTES (WORDS * sizeof(struct counter))

struct shared_reduction {
    struct comm_request request; /* first */
    struct shared_reducer *reducer;
    struct shared_reduction *next;
    uint64_t number; /* from 1 on */
    size_t offset;   /* of the elements, in each rank's block */
    size_t n;
    struct reduction_kind kind;
};

struct shared_reducer {
    struct shared_block block;
    uint64_t started;
    uint64_t known[WORDS]; /* what all ranks' counters have reached, at least */
    struct shared_reduction *waiting, **last; /* this rank's part is not combined yet */
    struct shared_reduction *idle;            /* a list */
};

static struct counter *counters_of(const struct shared_reducer *r, int rank)
{
    return (struct counter *)(void *)shared_block_of(&r->block, rank);
}

int shared_reducer_create(struct comm *c, size_t n_bytes, struct shared_reducer **out,
                          struct error *err)
{
    struct shared_reducer *r = calloc(1, sizeof *r);
    int rc = 0;

    *out = NULL;
    if (!r || n_bytes > SIZE_MAX - HEAD_BYTES)
        rc = error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", n_bytes);
    if (comm_agree(c, rc, err) < 0 ||
        shared_block_create(&r->block, c, HEAD_BYTES + n_bytes, err) < 0) {
        free(r);
        return -1;
    }
    r->last = &r->waiting;
    *out = r;
    return 0;
}

void shared_reducer_destroy(struct shared_reducer *r)
{
    if (!r)
        return;
    while (r->idle) {
        struct shared_reduction *m = r->idle;

        r->idle = m->next;
        free(m);
    }
    shared_block_release(&r->block);
    free(r);
}

void *shared_reducer_data(const struct shared_reducer *r)
{
    return shared_block_of(&r->block, r->block.rank) + HEAD_BYTES;
}

/* ---- One reduction --------------------------------------------------------------- */

/* The first element of a rank's part: parts begin with a cache line where elements do
 * not straddle lines, so that no line is written by two ranks. */
static size_t part_begin(const struct shared_reduction *m, int rank, int size)
{
    size_t width = m->kind.width, whole = m->n / (size_t)size;
    size_t i = whole * (size_t)rank + m->n % (size_t)size * (size_t)rank / (size_t)size;

    if (rank == 0 || rank == size)
        return rank == 0 ? 0 : m->n;
    if (LINE % width == 0)
        i += (LINE - (m->offset + i * width) % LINE) % LINE / width;
    return i < m->n ? i : m->n;
}

/* The block of the i-th rank after this one. */
static char *block_after(const struct shared_block *b, int i)
{
    return shared_block_of(b, (b->rank + i) % b->size);
}

/* Combine n elements at this offset of all ranks, for all ranks. Where the kind can,
 * the last combination writes two ranks' results while it has them at hand. */
static void piece_combine(const struct shared_reducer *r, size_t offset, size_t n,
                          const struct reduction_kind *kind)
{
    const struct shared_block *b = &r->block;
    char *own = shared_block_of(b, b->rank) + offset;
    int apart = kind->close && b->size > 1 ? b->size - 1 : b->size;

    for (int i = 1; i < apart; i++)
        kind->combine(own, block_after(b, i) + offset, n);
    if (apart < b->size)
        kind->close(own, block_after(b, apart) + offset, n, b->size);
    else if (kind->finish)
        kind->finish(own, n, b->size);
    for (int i = 1; i < apart; i++)
        memcpy(block_after(b, i) + offset, own, n * kind->width);
}

static void part_combine(const struct shared_reducer *r,
                         const struct shared_reduction *m)
{
    const struct reduction_kind *kind = &m->kind;
    size_t end = part_begin(m, r->block.rank + 1, r->block.size);
    size_t most = PIECE_BYTES / kind->width;

    for (size_t i = part_begin(m, r->block.rank, r->block.size); i < end; i += most)
        piece_combine(r, m->offset + i * kind->width, end - i < most ? end - i : most,
                      kind);
}

/* ---- All of them, in the order in which they were started -------------------------
 */

/* Has every rank said so of reduction `number`? */
static bool all_said(struct shared_reducer *r, enum word word, uint64_t number)
{
    uint64_t least = r->started;

    if (r->known[word] >= number)
        return true;
    for (int k = 0; k < r->block.size; k++) {
        uint64_t there = atomic_load_explicit(&counters_of(r, k)[word].reductions,
                                              memory_order_acquire);

        if (there < number)
            return false;
        least = there < least ? there : least;
    }
    r->known[word] = least;
    return true;
}

static void say(struct shared_reducer *r, enum word word, uint64_t number)
{
    atomic_store_explicit(&counters_of(r, r->block.rank)[word].reductions, number,
                          memory_order_release);
}

/* Combine this rank's part of all that are ready on all ranks. */
static void waiting_combine(struct shared_reducer *r)
{
    while (r->waiting && all_said(r, READY, r->waiting->number)) {
        struct shared_reduction *m = r->waiting;

        part_combine(r, m);
        say(r, COMBINED, m->number);
        r->waiting = m->next;
        if (!r->waiting)
            r->last = &r->waiting;
    }
}

static int reduction_advance(struct comm_request *request, bool *done,
                             struct error *err)
{
    struct shared_reduction *m = (struct shared_reduction *)(void *)request;
    struct shared_reducer *r = m->reducer;

    (void)err;
    waiting_combine(r);
    *done = all_said(r, COMBINED, m->number);
    if (*done) {
        m->next = r->idle;
        r->idle = m;
    }
    return 0;
}

static struct shared_reduction *reduction_take(struct shared_reducer *r)
{
    struct shared_reduction *m = r->idle;

    if (m)
        r->idle = m->next;
    else
        m = calloc(1, sizeof *m);
    return m;
}

int shared_reduction_start(struct shared_reducer *r, void *data, size_t n,
                           const struct reduction_kind *kind, struct comm_request **out,
                           struct error *err)
{
    struct shared_reduction *m = reduction_take(r);

    *out = NULL;
    if (!m)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory to start an allreduce");
    *m = (struct shared_reduction){
        .request = {.advance = reduction_advance},
        .reducer = r,
        .number = ++r->started,
        .offset = (size_t)((char *)data - shared_block_of(&r->block, r->block.rank)),
        .n = n,
        .kind = *kind};
    *r->last = m;
    r->last = &m->next;
    say(r, READY, m->number);
    *out = &m->request;
    return 0;
}
