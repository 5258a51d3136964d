/*
 * plan.c - the plan of a checkpoint that is going to be written: every part, and its
 * owner. Later the hashes of all ranks are put in the plan's order.
 *
 * Ranks may put the same slab. Then the rank that has the least to write so far writes
 * it, so that replicas share the work.
 */
#include "config.h"

#include "checkpoint/plan.h"
#include <stdlib.h>
#include <string.h>

#include "checkpoint/by_parts.h"
#include "checkpoint/chunks.h"
#include "checkpoint/rank_contents.h"

/* ---- The parts ---- */

/* Facts about one of its slabs that a rank does not know. */
struct slab_note {
    uint64_t at; /* as tensor_entry.slab_at */
    uint32_t elsewhere, by_parts;
};

/* The state of rank 0 while it makes the parts. */
struct parting {
    raytrain_checkpoint *ck;
    struct plan *plan;
    size_t room; /* for parts, in the plan */
    struct rank_contents contents;
    struct rank_slab *slabs; /* of one tensor: room for one per rank */
    uint64_t *load;          /* bytes that each rank is to write of sharded tensors */
    struct slab_note *notes; /* for each rank, one for each of its slabs */
    size_t n_slabs;          /* of a rank */
    uint64_t n_noted;        /* slabs with notes */
};

static size_t slabs_count(const raytrain_checkpoint *ck)
{
    size_t n = 0;

    for (size_t i = 0; i < ck->n_tensors; i++)
        n += entry_has_slab(&ck->tensors[i]);
    return n;
}

static struct slab_note *note_of(struct parting *p, int rank, size_t nth)
{
    return &p->notes[(size_t)rank * p->n_slabs + nth];
}

static int parts_grow(struct parting *p)
{
    size_t want = p->room ? 2 * p->room : 64;
    struct part *parts;
    int *ranks;

    if (p->plan->n_parts < p->room)
        return 0;
    parts = realloc(p->plan->parts, want * sizeof *parts);
    if (!parts)
        return -1;
    p->plan->parts = parts;
    ranks = realloc(p->plan->ranks, want * sizeof *ranks);
    if (!ranks)
        return -1;
    p->plan->ranks = ranks;
    p->room = want;
    return 0;
}

/* rank -1: replicated. */
static int part_add(struct parting *p, size_t tensor, int rank,
                    const raytrain_slab *slab, uint64_t *at, struct error *err)
{
    const struct tensor_entry *e = &p->ck->tensors[tensor];
    struct slab_stream stream;
    struct plan *plan = p->plan;
    struct part *part;

    if (parts_grow(p) < 0)
        return error_no_memory(err);
    slab_stream_init(&stream, e->ndim, e->shape, e->element_bytes, slab);
    part = &plan->parts[plan->n_parts];
    *part = (struct part){.tensor = tensor,
                          .slab = *slab,
                          .at = *at,
                          .first_hash = plan->n_hashes,
                          .n_hashes = chunks_of(stream.bytes, CHUNK_BYTES)};
    plan->ranks[plan->n_parts++] = rank;
    plan->n_hashes += part->n_hashes;
    *at += stream.bytes;
    return 0;
}

/* The slabs of all ranks for sharded tensor number `nth`, without empty ones. */
static size_t slabs_collect(const struct parting *p, size_t nth, int ndim)
{
    size_t n = 0;

    for (int r = 0; r < p->contents.size; r++) {
        rank_contents_slab(&p->contents, r, nth, &p->slabs[n].slab);
        p->slabs[n].rank = r;
        if (!slab_is_empty(ndim, &p->slabs[n].slab))
            n++;
    }
    return n;
}

/* Of n equal slabs, the one of the rank that has the least to write. */
static struct rank_slab slab_choose(struct parting *p, size_t nth,
                                    const struct rank_slab *slabs, size_t n,
                                    uint64_t bytes)
{
    struct rank_slab best = slabs[0];

    for (size_t i = 1; i < n; i++)
        if (p->load[slabs[i].rank] < p->load[best.rank])
            best = slabs[i];
    for (size_t i = 0; i < n; i++)
        note_of(p, slabs[i].rank, nth)->elsewhere = slabs[i].rank != best.rank;
    p->n_noted += n - 1;
    p->load[best.rank] += bytes;
    return best;
}

/* Keep one of each set of equal slabs; returns how many are left. */
static size_t slabs_choose(struct parting *p, const struct tensor_entry *e, size_t nth,
                           size_t n)
{
    struct rank_slab *slabs = p->slabs;
    struct slab_stream stream;
    size_t kept = 0, same;
    int ndim = e->ndim;

    if (n > 1)
        qsort_r(slabs, n, sizeof *slabs, slab_order, &ndim);
    for (size_t i = 0; i < n; i += same) {
        for (same = 1; i + same < n; same++)
            if (!slab_equal(ndim, &slabs[i].slab, &slabs[i + same].slab))
                break;
        slab_stream_init(&stream, ndim, e->shape, e->element_bytes, &slabs[i].slab);
        slabs[kept++] = slab_choose(p, nth, &slabs[i], same, stream.bytes);
    }
    return kept;
}

static int slab_by_rank(const void *a, const void *b)
{
    const struct rank_slab *p = a, *q = b;

    return (p->rank > q->rank) - (p->rank < q->rank);
}

/* Tell every rank that the tensor is stored by parts, and the rank that writes each
 * part where it lies. */
static void by_parts_note(struct parting *p, const struct tensor_entry *e, size_t nth)
{
    for (int r = 0; r < p->contents.size; r++)
        note_of(p, r, nth)->by_parts = true;
    for (size_t k = e->first_part; k < p->plan->n_parts; k++)
        note_of(p, p->plan->ranks[k], nth)->at = p->plan->parts[k].at;
    p->n_noted++;
}

static int sharded_plan(struct parting *p, size_t tensor, size_t nth, struct error *err)
{
    struct tensor_entry *e = &p->ck->tensors[tensor];
    size_t n = slabs_choose(p, e, nth, slabs_collect(p, nth, e->ndim));
    uint64_t at = 0;

    if (slab_cover(e->name, e->ndim, e->shape, p->slabs, n, err) < 0)
        return -1;
    if (n > 1)
        qsort(p->slabs, n, sizeof *p->slabs, slab_by_rank);
    for (size_t i = 0; i < n; i++)
        if (part_add(p, tensor, p->slabs[i].rank, &p->slabs[i].slab, &at, err) < 0)
            return -1;
    e->by_parts = by_parts_choose(e, p->plan->parts + e->first_part, n);
    if (e->by_parts)
        by_parts_note(p, e, nth);
    return 0;
}

/* The parts of all tensors; those of a tensor in the order of ranks. */
static int parts_add(struct parting *p, struct error *err)
{
    size_t nth = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < p->ck->n_tensors; i++) {
        struct tensor_entry *e = &p->ck->tensors[i];

        e->first_part = p->plan->n_parts;
        if (entry_has_slab(e))
            rc = sharded_plan(p, i, nth++, err);
        else if (e->bytes > 0)
            rc = part_add(p, i, e->writer, &e->slab, &(uint64_t){0}, err);
        e->n_parts = p->plan->n_parts - e->first_part;
    }
    return rc;
}

/* Rank 0 */
static int parts_make(struct parting *p, struct error *err)
{
    size_t size = (size_t)p->contents.size;

    p->slabs = calloc(size, sizeof *p->slabs);
    p->load = calloc(size, sizeof *p->load);
    p->notes = calloc(size * p->n_slabs + 1, sizeof *p->notes);
    if (!p->slabs || !p->load || !p->notes)
        return error_no_memory(err);
    return parts_add(p, err);
}

static void notes_take(raytrain_checkpoint *ck, const struct slab_note *notes)
{
    size_t nth = 0;

    for (size_t i = 0; i < ck->n_tensors; i++) {
        struct tensor_entry *e = &ck->tensors[i];

        if (!entry_has_slab(e))
            continue;
        e->elsewhere = notes[nth].elsewhere;
        e->by_parts = notes[nth].by_parts;
        e->slab_at = notes[nth].at;
        nth++;
    }
}

/* COLLECTIVE: each rank gets the notes about its own slabs. */
static int notes_scatter(struct parting *p, struct comm *comm, struct error *err)
{
    struct slab_note *mine = NULL;
    int rc;

    if (comm->ops->bcast(comm, &p->n_noted, sizeof p->n_noted, 0, err) < 0)
        return -1;
    if (p->n_noted == 0)
        return 0;
    rc = comm_scatter(comm, p->notes, p->n_slabs * sizeof *mine, (void **)&mine, err);
    if (rc == 0)
        notes_take(p->ck, mine);
    free(mine);
    return rc;
}

/* ---- All of it ---- */

int plan_make(raytrain_checkpoint *ck, struct comm *comm, struct plan *plan,
              struct error *err)
{
    struct parting p = {.ck = ck, .plan = plan};
    int rc;

    memset(plan, 0, sizeof *plan);
    rc = rank_contents_gather(ck, comm, &p.contents, err);
    p.n_slabs = slabs_count(ck);
    if (rc == 0)
        rc = comm_agree(comm, comm->rank == 0 ? parts_make(&p, err) : 0, err);
    if (rc == 0)
        rc = notes_scatter(&p, comm, err);
    rank_contents_clear(&p.contents);
    free(p.slabs);
    free(p.load);
    free(p.notes);
    return rc;
}

/* ---- The hashes of all ranks ---- */

/* Rank 0: put what the ranks sent into the table. A rank's hashes come in the order of
 * the parts; at[r] is where those of rank r begin, end[r] where they end. Returns the
 * rank that sent another number of them; -1: none. */
static int hashes_place(const struct plan *plan, const raytrain_checkpoint *ck,
                        int size, const uint64_t *sent, size_t *at, const size_t *end,
                        uint64_t *table)
{
    struct chunk_walk walk;
    struct chunk c;

    chunk_walk_plan(&walk, ck, plan, size);
    while (chunk_walk_next(&walk, &c)) {
        if (at[c.owner] == end[c.owner])
            return c.owner;
        table[c.index] = sent[at[c.owner]++];
    }
    for (int r = 0; r < size; r++)
        if (at[r] != end[r])
            return r;
    return -1;
}

static int hashes_sort(const struct plan *plan, const raytrain_checkpoint *ck, int size,
                       const uint64_t *sent, const size_t *sizes, uint64_t *table,
                       struct error *err)
{
    size_t n = (size_t)size, sum = 0;
    size_t *at = calloc(2 * n, sizeof *at), *end = at + n;
    int odd;

    if (!at)
        return error_no_memory(err);
    for (size_t r = 0; r < n; r++) {
        at[r] = sum;
        sum += sizes[r] / sizeof *sent;
        end[r] = sum;
    }
    odd = hashes_place(plan, ck, size, sent, at, end, table);
    free(at);
    if (odd >= 0)
        return error_set(err, RAYTRAIN_ECOMM,
                         "rank %d sent a wrong number of checksums", odd);
    return 0;
}

int plan_gather_hashes(const struct plan *plan, const raytrain_checkpoint *ck,
                       struct comm *comm, const uint64_t *hashes, size_t n_hashes,
                       uint64_t **table, struct error *err)
{
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    uint64_t *sorted =
        comm->rank == 0 ? calloc(plan->n_hashes + 1, sizeof *sorted) : NULL;
    void *sent = NULL;
    int rc = 0;

    *table = NULL;
    if (!sizes || (comm->rank == 0 && !sorted))
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, hashes, n_hashes * sizeof *hashes, &sent, sizes,
                                0, err);
    if (rc == 0 && comm->rank == 0)
        rc = hashes_sort(plan, ck, comm->size, sent, sizes, sorted, err);
    free(sent);
    free(sizes);
    if (rc == 0 && comm->rank == 0)
        *table = sorted;
    else
        free(sorted);
    return rc;
}

void plan_clear(struct plan *plan)
{
    free(plan->parts);
    free(plan->ranks);
    memset(plan, 0, sizeof *plan);
}
