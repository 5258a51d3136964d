/*
 * plan_share.c - give each rank the part of the plan that it needs: the replicated
 * tensors, its own slabs, and a few of its neighbours. The plan itself grows with the
 * number of ranks, and stays on rank 0.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/plan_share.h"
#include "util/array.h"

/* ---- What ranks need ---- */

int part_needs_add(struct part_needs *needs, uint64_t part, int rank)
{
    if (array_grow(&needs->list, &needs->room, needs->n, sizeof *needs->list) < 0)
        return -1;
    needs->list[needs->n++] = (struct part_need){part, rank};
    return 0;
}

void part_needs_clear(struct part_needs *needs)
{
    free(needs->list);
    *needs = (struct part_needs){0};
}

/* ---- Rank 0: the parts of each rank ---- */

/* The numbers of the parts that rank r needs are parts[at[r]] up to parts[at[r + 1]]. */
struct listing {
    size_t *at;
    uint64_t *parts;
    uint64_t *seen; /* the last part of each rank, plus 1 */
};

/* One rank needs one part: count it, or list it. */
static void listing_put(struct listing *l, int rank, uint64_t part)
{
    if (l->seen[rank] == part + 1)
        return;
    l->seen[rank] = part + 1;
    if (l->parts)
        l->parts[l->at[rank]] = part;
    l->at[rank]++;
}

static void listing_visit(struct listing *l, const struct plan *all,
                          const struct part_needs *needs, int size)
{
    size_t k = 0;

    memset(l->seen, 0, (size_t)size * sizeof *l->seen);
    for (uint64_t p = 0; p < all->n_parts; p++) {
        if (all->ranks[p] >= 0)
            listing_put(l, all->ranks[p], p);
        for (; k < needs->n && needs->list[k].part == p; k++)
            if (all->ranks[p] >= 0)
                listing_put(l, needs->list[k].rank, p);
    }
}

static int listing_make(struct listing *l, const struct plan *all,
                        const struct part_needs *needs, int size)
{
    size_t sum = 0;

    l->at = calloc((size_t)size + 1, sizeof *l->at);
    l->seen = calloc((size_t)size, sizeof *l->seen);
    if (!l->at || !l->seen)
        return -1;
    listing_visit(l, all, needs, size);
    for (int r = 0; r <= size; r++) {
        size_t n = l->at[r];

        l->at[r] = sum;
        sum += n;
    }
    l->parts = calloc(sum + 1, sizeof *l->parts);
    if (!l->parts)
        return -1;
    listing_visit(l, all, needs, size); /* at[r] is now the end of its parts */
    for (int r = size; r > 0; r--)
        l->at[r] = l->at[r - 1];
    l->at[0] = 0;
    return 0;
}

static void listing_clear(struct listing *l)
{
    free(l->at);
    free(l->parts);
    free(l->seen);
}

/* ---- What is sent ---- */

struct piece {
    uint64_t number; /* of the part */
    struct part part;
    int64_t rank;
};

struct pieces {
    struct piece *list;
    uint64_t n;
};

static int pieces_room(struct pieces *p, uint64_t n)
{
    p->list = malloc((n + 1) * sizeof *p->list);
    p->n = 0;
    return p->list ? 0 : -1;
}

static void pieces_add(struct pieces *p, const struct plan *all, uint64_t number)
{
    struct piece *piece = &p->list[p->n++];

    memset(piece, 0, sizeof *piece);
    piece->number = number;
    piece->part = all->parts[number];
    piece->rank = all->ranks[number];
}

/* COLLECTIVE: the replicated parts, on all ranks. */
static int replicated_bcast(const struct plan *all, struct comm *comm, struct pieces *p,
                            struct error *err)
{
    int rc = 0;

    if (comm->rank == 0 && pieces_room(p, all->n_parts) < 0)
        rc = error_no_memory(err);
    for (uint64_t k = 0; rc == 0 && comm->rank == 0 && k < all->n_parts; k++)
        if (all->ranks[k] < 0)
            pieces_add(p, all, k);
    if (comm_agree(comm, rc, err) < 0 ||
        comm->ops->bcast(comm, &p->n, sizeof p->n, 0, err) < 0)
        return -1;
    return comm_bcast_alloc(comm, (void **)&p->list, p->n * sizeof *p->list, 0, err);
}

/* How many each rank gets; returns the largest number. */
static uint64_t pieces_count(const struct listing *l, int size, uint64_t *counts)
{
    uint64_t most = 0;

    for (int r = 0; r < size; r++) {
        counts[r] = l->at[r + 1] - l->at[r];
        most = counts[r] > most ? counts[r] : most;
    }
    return most;
}

/* Rank 0: send the parts of one rank after the other, its own last. */
static int pieces_send(const struct plan *all, const struct listing *l,
                       struct comm *comm, struct pieces *p, struct error *err)
{
    for (int r = comm->size - 1; r >= 0; r--) {
        p->n = 0;
        for (size_t k = l->at[r]; k < l->at[r + 1]; k++)
            pieces_add(p, all, l->parts[k]);
        if (r > 0 && p->n > 0 &&
            comm->ops->sendrecv(comm, p->list, p->n * sizeof *p->list, r, NULL, 0, -1,
                                err) < 0)
            return -1;
    }
    return 0;
}

static int pieces_receive(struct pieces *p, uint64_t n, struct comm *comm,
                          struct error *err)
{
    p->n = n;
    if (n == 0)
        return 0;
    return comm->ops->sendrecv(comm, NULL, 0, -1, p->list, n * sizeof *p->list, 0, err);
}

/* COLLECTIVE: this rank's other parts. `l` and counts are rank 0's. */
static int pieces_exchange(const struct plan *all, const struct listing *l,
                           uint64_t *counts, struct comm *comm, struct pieces *p,
                           struct error *err)
{
    uint64_t *mine = NULL, room = 0;
    int rc = 0;

    if (comm->rank == 0)
        room = pieces_count(l, comm->size, counts);
    if (comm_scatter(comm, counts, sizeof *counts, (void **)&mine, err) < 0)
        return -1;
    if (pieces_room(p, comm->rank == 0 ? room : *mine) < 0)
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->rank == 0 ? pieces_send(all, l, comm, p, err)
                             : pieces_receive(p, *mine, comm, err);
    free(mine);
    return rc;
}

/* COLLECTIVE */
static int pieces_scatter(const struct plan *all, const struct part_needs *needs,
                          struct comm *comm, struct pieces *p, struct error *err)
{
    uint64_t *counts = calloc((size_t)comm->size, sizeof *counts);
    struct listing l = {0};
    int rc = 0;

    if (!counts || (comm->rank == 0 && listing_make(&l, all, needs, comm->size) < 0))
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = pieces_exchange(all, &l, counts, comm, p, err);
    listing_clear(&l);
    free(counts);
    return rc;
}

/* ---- The plan of this rank ---- */

/* Both are in the order of the parts. */
static int pieces_merge(const struct pieces *a, const struct pieces *b,
                        struct plan *mine)
{
    uint64_t n = a->n + b->n, i = 0, k = 0;

    mine->parts = calloc(n + 1, sizeof *mine->parts);
    mine->ranks = calloc(n + 1, sizeof *mine->ranks);
    if (!mine->parts || !mine->ranks)
        return -1;
    while (i + k < n) {
        bool from_a = k == b->n || (i < a->n && a->list[i].number < b->list[k].number);
        const struct piece *p = from_a ? &a->list[i++] : &b->list[k++];

        mine->parts[mine->n_parts] = p->part;
        mine->ranks[mine->n_parts++] = (int)p->rank;
    }
    return 0;
}

int plan_share(const struct plan *all, const struct part_needs *needs,
               struct comm *comm, struct plan *mine, struct error *err)
{
    struct pieces replicated = {0}, others = {0};
    uint64_t n_hashes = all->n_hashes;
    int rc = comm->ops->bcast(comm, &n_hashes, sizeof n_hashes, 0, err);

    memset(mine, 0, sizeof *mine);
    mine->n_hashes = n_hashes;
    if (rc == 0)
        rc = replicated_bcast(all, comm, &replicated, err);
    if (rc == 0)
        rc = pieces_scatter(all, needs, comm, &others, err);
    if (rc == 0 && pieces_merge(&replicated, &others, mine) < 0)
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    free(replicated.list);
    free(others.list);
    return rc;
}
