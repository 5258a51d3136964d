/*
 * plan.c - before a checkpoint is written, the ranks agree on what it holds: the plan
 * is every part, and its owner. Later it puts the hashes of all ranks in order.
 *
 * Every rank sends rank 0 a checksum of its list of tensors and, for sharded ones, its
 * slabs. If a checksum differs from that of rank 0, that rank sends the list itself, so
 * that the message can name the tensor.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "checkpoint/chunks.h"

/* ---- Lists ---- */

/* What all ranks must agree on about a tensor, in one line. */
static char *entry_describe(const struct tensor_entry *e)
{
    char shape[RAYTRAIN_MAX_DIMS * 21 + 8] = "";
    char *line;
    int n = 0;

    for (int d = 0; d < e->ndim; d++)
        n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%" PRIu64, d ? ", " : "",
                      e->shape[d]);
    if (asprintf(&line, "'%s' (%s [%s]%s)", e->name, entry_dtype_name(e->dtype), shape,
                 e->sharded ? ", sharded" : "") < 0)
        return NULL;
    return line;
}

/* The lines of all tensors, each ended by a NUL. */
static int list_render(const raytrain_checkpoint *ck, char **list, size_t *n)
{
    FILE *out = open_memstream(list, n);
    int rc = 0;

    if (!out)
        return -1;
    for (size_t i = 0; rc == 0 && i < ck->n_tensors; i++) {
        char *line = entry_describe(&ck->tensors[i]);

        if (!line || fwrite(line, strlen(line) + 1, 1, out) != 1)
            rc = -1;
        free(line);
    }
    if (fclose(out) != 0)
        rc = -1;
    if (rc < 0) {
        free(*list);
        *list = NULL;
    }
    return rc;
}

/* The contents of strings are replicated data: they must be equal, too. */
static uint64_t strings_hash(const raytrain_checkpoint *ck, uint64_t hash)
{
    for (size_t i = 0; i < ck->n_tensors; i++)
        if (ck->tensors[i].dtype == DTYPE_STRING)
            hash =
                XXH3_64bits_withSeed(ck->tensors[i].data, ck->tensors[i].bytes, hash);
    return hash;
}

/* ---- What a rank sends ---- */

struct offer {
    uint64_t list_hash, strings_hash;
};

/* The offer, then this rank's slab of each sharded tensor, even if it is empty. */
static int offer_render(const raytrain_checkpoint *ck, const char *list, size_t n_list,
                        void **data, size_t *n)
{
    size_t sharded = 0;
    raytrain_slab *slabs;
    struct offer *offer;

    for (size_t i = 0; i < ck->n_tensors; i++)
        sharded += ck->tensors[i].sharded;
    *n = sizeof *offer + sharded * sizeof *slabs;
    offer = calloc(1, *n);
    if (!offer)
        return -1;
    offer->list_hash = XXH3_64bits(list, n_list);
    offer->strings_hash = strings_hash(ck, 0);
    slabs = (raytrain_slab *)(offer + 1);
    for (size_t i = 0; i < ck->n_tensors; i++)
        if (ck->tensors[i].sharded)
            *slabs++ = ck->tensors[i].slab;
    *data = offer;
    return 0;
}

/* ---- If lists differ ---- */

/* Rank 0: the first rank whose offer differs from its own; 0: none. */
static int offer_odd_one(const char *offers, const size_t *sizes, int size)
{
    const struct offer *mine = (const struct offer *)(const void *)offers;
    size_t at = sizes[0];

    for (int r = 1; r < size; r++) {
        struct offer theirs;

        if (sizes[r] < sizeof theirs)
            return r;
        memcpy(&theirs, offers + at, sizeof theirs);
        if (memcmp(&theirs, mine, sizeof theirs) != 0 || sizes[r] != sizes[0])
            return r;
        at += sizes[r];
    }
    return 0;
}

static int difference_error(int rank, const char *a, size_t n_a, const char *b,
                            size_t n_b, struct error *err)
{
    const char *end_a = a + n_a, *end_b = b + n_b;

    while (a < end_a && b < end_b && strcmp(a, b) == 0) {
        a += strlen(a) + 1;
        b += strlen(b) + 1;
    }
    if (a == end_a && b == end_b)
        return error_set(err, RAYTRAIN_EINVAL,
                         "a string that rank %d puts differs from that of rank 0; all "
                         "ranks must put the same",
                         rank);
    return error_set(
        err, RAYTRAIN_EINVAL,
        "rank 0 puts %s where rank %d puts %s; all ranks must put the same "
        "tensors in the same order",
        a < end_a ? a : "nothing more", rank, b < end_b ? b : "nothing more");
}

/* COLLECTIVE: rank `odd` sends its list; rank 0 finds the difference. */
static int difference_find(struct comm *comm, int odd, const char *list, size_t n,
                           struct error *err)
{
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    void *theirs = NULL;
    int rc = sizes ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, list, comm->rank == odd ? n : 0, &theirs, sizes,
                                0, err);
    if (rc == 0 && comm->rank == 0)
        rc = difference_error(odd, list, n, theirs, sizes[odd], err);
    free(theirs);
    free(sizes);
    return comm_agree(comm, rc, err);
}

/* ---- The parts ---- */

static int parts_grow(struct plan *plan, size_t *room)
{
    size_t want = *room ? 2 * *room : 64;
    struct part *parts;
    int *ranks;

    if (plan->n_parts < *room)
        return 0;
    parts = realloc(plan->parts, want * sizeof *parts);
    if (!parts)
        return -1;
    plan->parts = parts;
    ranks = realloc(plan->ranks, want * sizeof *ranks);
    if (!ranks)
        return -1;
    plan->ranks = ranks;
    *room = want;
    return 0;
}

static int part_add(struct plan *plan, size_t *room, const struct tensor_entry *e,
                    size_t tensor, int rank, const raytrain_slab *slab)
{
    struct slab_stream stream;
    struct part *p;

    if (parts_grow(plan, room) < 0)
        return -1;
    slab_stream_init(&stream, e->ndim, e->shape, e->element_bytes, slab);
    p = &plan->parts[plan->n_parts];
    *p = (struct part){.tensor = tensor,
                       .slab = *slab,
                       .first_hash = plan->n_hashes,
                       .n_hashes = chunks_of(stream.bytes, CHUNK_BYTES)};
    plan->ranks[plan->n_parts++] = rank;
    plan->n_hashes += p->n_hashes;
    return 0;
}

/* The slabs of all ranks for sharded tensor number `nth`, without empty ones. */
static size_t slabs_collect(const char *offers, const size_t *sizes, int size,
                            size_t nth, int ndim, struct rank_slab *slabs)
{
    size_t n = 0;

    for (int r = 0; r < size; r++) {
        memcpy(&slabs[n].slab,
               offers + sizeof(struct offer) + nth * sizeof(raytrain_slab),
               sizeof(raytrain_slab));
        slabs[n].rank = r;
        if (!slab_is_empty(ndim, &slabs[n].slab))
            n++;
        offers += sizes[r];
    }
    return n;
}

static int slab_by_rank(const void *a, const void *b)
{
    const struct rank_slab *p = a, *q = b;

    return (p->rank > q->rank) - (p->rank < q->rank);
}

static int sharded_plan(raytrain_checkpoint *ck, size_t tensor, struct rank_slab *slabs,
                        size_t n, struct plan *plan, size_t *room, struct error *err)
{
    const struct tensor_entry *e = &ck->tensors[tensor];

    if (slab_cover(e->name, e->ndim, e->shape, slabs, n, err) < 0)
        return -1;
    if (n > 1)
        qsort(slabs, n, sizeof *slabs, slab_by_rank);
    for (size_t i = 0; i < n; i++)
        if (part_add(plan, room, e, tensor, slabs[i].rank, &slabs[i].slab) < 0)
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return 0;
}

/* Rank 0: the parts of all tensors; those of a tensor in the order of ranks. */
static int parts_make(raytrain_checkpoint *ck, const char *offers, const size_t *sizes,
                      int size, struct plan *plan, struct error *err)
{
    struct rank_slab *slabs = calloc((size_t)size, sizeof *slabs);
    size_t room = 0, nth = 0;
    int rc = slabs ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < ck->n_tensors; i++) {
        struct tensor_entry *e = &ck->tensors[i];

        e->first_part = plan->n_parts;
        if (e->sharded)
            rc = sharded_plan(ck, i, slabs,
                              slabs_collect(offers, sizes, size, nth++, e->ndim, slabs),
                              plan, &room, err);
        else if (e->bytes > 0 && part_add(plan, &room, e, i, -1, &e->slab) < 0)
            rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        e->n_parts = plan->n_parts - e->first_part;
    }
    free(slabs);
    return rc;
}

/* ---- All of it ---- */

/* COLLECTIVE: gather the offers, and make the parts from them on rank 0. */
static int offers_gather(raytrain_checkpoint *ck, struct comm *comm, const void *offer,
                         size_t n_offer, const char *list, size_t n_list,
                         struct plan *plan, struct error *err)
{
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    int rc = sizes ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    void *offers = NULL;
    int64_t odd = 0;

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, offer, n_offer, &offers, sizes, 0, err);
    if (rc == 0 && comm->rank == 0)
        odd = offer_odd_one(offers, sizes, comm->size);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &odd, sizeof odd, 0, err);
    if (rc == 0 && odd != 0) {
        rc = difference_find(comm, (int)odd, list, n_list, err);
    } else if (rc == 0) {
        if (comm->rank == 0)
            rc = parts_make(ck, offers, sizes, comm->size, plan, err);
        rc = comm_agree(comm, rc, err);
    }
    free(offers);
    free(sizes);
    return rc;
}

int plan_make(raytrain_checkpoint *ck, struct comm *comm, struct plan *plan,
              struct error *err)
{
    char *list = NULL;
    void *offer = NULL;
    size_t n_list = 0, n_offer = 0;
    int rc = 0;

    memset(plan, 0, sizeof *plan);
    if (list_render(ck, &list, &n_list) < 0 ||
        offer_render(ck, list, n_list, &offer, &n_offer) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = offers_gather(ck, comm, offer, n_offer, list, n_list, plan, err);
    free(list);
    free(offer);
    return rc;
}

/* ---- The plan on every rank ---- */

int bytes_bcast(struct comm *comm, void **data, size_t n, int root, struct error *err)
{
    int rc = 0;

    if (comm->rank != root && !(*data = malloc(n + 1)))
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = comm_agree(comm, rc, err);
    return rc == 0 && n > 0 ? comm->ops->bcast(comm, *data, n, root, err) : rc;
}

int plan_bcast(struct plan *plan, struct comm *comm, struct error *err)
{
    uint64_t n[] = {plan->n_parts, plan->n_hashes};

    if (comm->ops->bcast(comm, n, sizeof n, 0, err) < 0)
        return -1;
    plan->n_parts = (size_t)n[0];
    plan->n_hashes = n[1];
    if (bytes_bcast(comm, (void **)&plan->parts, n[0] * sizeof *plan->parts, 0, err) <
        0)
        return -1;
    return bytes_bcast(comm, (void **)&plan->ranks, n[0] * sizeof *plan->ranks, 0, err);
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t r = 0; r < n; r++) {
        at[r] = sum;
        sum += sizes[r] / sizeof *sent;
        end[r] = sum;
    }
    odd = hashes_place(plan, ck, size, sent, at, end, table);
    free(at);
    if (odd >= 0)
        return error_set(err, RAYTRAIN_ECOMM,
                         "rank %d sent another number of checksums than it should",
                         odd);
    return 0;
}

int plan_gather_hashes(const struct plan *plan, const raytrain_checkpoint *ck,
                       struct comm *comm, const uint64_t *hashes, size_t n_hashes,
                       uint64_t **table, struct error *err)
{
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    uint64_t *sorted = calloc(plan->n_hashes + 1, sizeof *sorted);
    void *sent = NULL;
    int rc = 0;

    *table = NULL;
    if (!sizes || !sorted)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
