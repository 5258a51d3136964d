/*
 * rank_contents.c - render the contents of a rank, gather those of all on rank 0, and
 * find the first difference. plan.c decides from them which rank writes what.
 */
#include "config.h"
#include "checkpoint/rank_contents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "checkpoint/attachments.h"

/* The contents of a rank: this, then the slabs, then the records of the attachments. */
struct contents_head {
    uint64_t list_hash, strings_hash;
    uint64_t n_slabs;
    uint64_t attached_bytes;
};

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
    if (e->writer >= 0)
        n = asprintf(&line, "'%s' (%s [%s] of rank %d)", e->name,
                     entry_dtype_name(e->dtype), shape, e->writer);
    else
        n = asprintf(&line, "'%s' (%s [%s]%s)", e->name, entry_dtype_name(e->dtype),
                     shape, e->sharded ? ", sharded" : "");
    if (n < 0)
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

uint64_t rank_contents_strings_hash(const raytrain_checkpoint *ck)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < ck->n_tensors; i++)
        if (ck->tensors[i].dtype == DTYPE_STRING)
            hash =
                XXH3_64bits_withSeed(ck->tensors[i].data, ck->tensors[i].bytes, hash);
    return hash;
}

/* ---- What a rank sends ---- */

static int slabs_render(const raytrain_checkpoint *ck, FILE *out)
{
    for (size_t i = 0; i < ck->n_tensors; i++)
        if (entry_has_slab(&ck->tensors[i]) &&
            fwrite(&ck->tensors[i].slab, sizeof(raytrain_slab), 1, out) != 1)
            return -1;
    return 0;
}

/* *data is malloc'ed, or NULL. */
static int contents_render(const raytrain_checkpoint *ck, int rank, const char *list,
                           size_t n_list, char **data, size_t *n)
{
    struct contents_head head = {.list_hash = XXH3_64bits(list, n_list),
                                 .strings_hash = rank_contents_strings_hash(ck),
                                 .attached_bytes = attachments_bytes(ck)};
    FILE *out = open_memstream(data, n);
    int rc = 0;

    if (!out)
        return -1;
    for (size_t i = 0; i < ck->n_tensors; i++)
        head.n_slabs += entry_has_slab(&ck->tensors[i]);
    if (fwrite(&head, sizeof head, 1, out) != 1 || slabs_render(ck, out) < 0 ||
        attachments_render(ck, rank, out) < 0)
        rc = -1;
    return fclose(out) == 0 ? rc : -1;
}

/* ---- What rank 0 has received ---- */

static struct contents_head contents_head(const struct rank_contents *contents,
                                          int rank)
{
    struct contents_head head;

    memcpy(&head, contents->data + contents->at[rank], sizeof head);
    return head;
}

void rank_contents_slab(const struct rank_contents *contents, int rank, size_t nth,
                        raytrain_slab *slab)
{
    memcpy(slab,
           contents->data + contents->at[rank] + sizeof(struct contents_head) +
               nth * sizeof *slab,
           sizeof *slab);
}

void rank_contents_clear(struct rank_contents *contents)
{
    free(contents->data);
    free(contents->at);
    *contents = (struct rank_contents){0};
}

/* The first rank whose list differs from that of rank 0; 0: none. */
static int odd_one(const struct rank_contents *contents)
{
    const struct contents_head mine = contents_head(contents, 0);

    for (int r = 1; r < contents->size; r++) {
        const struct contents_head theirs = contents_head(contents, r);

        if (theirs.list_hash != mine.list_hash || theirs.n_slabs != mine.n_slabs ||
            theirs.strings_hash != mine.strings_hash)
            return r;
    }
    return 0;
}

/* ---- If lists differ ---- */

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
    int rc = sizes ? 0 : error_no_memory(err);

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

/* ---- All of it ---- */

/* Rank 0: the records of all ranks, one after the other; malloc'ed. */
static int attached_join(const struct rank_contents *contents, void **records,
                         uint64_t *n, struct error *err)
{
    char *at;

    *n = 0;
    for (int r = 0; r < contents->size; r++)
        *n += contents_head(contents, r).attached_bytes;
    *records = at = malloc(*n + 1);
    if (!at)
        return error_no_memory(err);
    for (int r = 0; r < contents->size; r++) {
        const struct contents_head head = contents_head(contents, r);

        memcpy(at,
               contents->data + contents->at[r] + sizeof head +
                   head.n_slabs * sizeof(raytrain_slab),
               head.attached_bytes);
        at += head.attached_bytes;
    }
    return 0;
}

static int contents_receive(struct rank_contents *contents, struct comm *comm,
                            const char *own, size_t n, struct error *err)
{
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes);
    void *data = NULL;
    int rc = sizes ? 0 : error_no_memory(err);
    size_t sum = 0;

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, own, n, &data, sizes, 0, err);
    for (int r = 0; rc == 0 && data && r < comm->size; r++) {
        size_t size = sizes[r];

        sizes[r] = sum; /* from now on: where it begins */
        sum += size;
    }
    *contents = (struct rank_contents){.size = comm->size, .data = data, .at = sizes};
    return rc;
}

/* What rank 0 finds in the contents. */
struct finding {
    int64_t odd; /* a rank whose list differs; 0: none */
    uint64_t attached_bytes;
};

/* COLLECTIVE */
static int contents_settle(raytrain_checkpoint *ck, struct comm *comm,
                           const struct rank_contents *contents, const char *list,
                           size_t n_list, struct error *err)
{
    struct finding found = {0};
    void *attached = NULL;
    int rc = 0;

    if (comm->rank == 0) {
        found.odd = odd_one(contents);
        rc = attached_join(contents, &attached, &found.attached_bytes, err);
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &found, sizeof found, 0, err);
    if (rc == 0 && found.odd != 0)
        rc = difference_find(comm, (int)found.odd, list, n_list, err);
    else if (rc == 0 && found.attached_bytes > 0)
        rc = attachments_merge(ck, comm, &attached, found.attached_bytes, err);
    free(attached);
    return rc;
}

int rank_contents_gather(raytrain_checkpoint *ck, struct comm *comm,
                         struct rank_contents *contents, struct error *err)
{
    char *list = NULL, *own = NULL;
    size_t n_list = 0, n_own = 0;
    int rc = 0;

    *contents = (struct rank_contents){0};
    if (list_render(ck, &list, &n_list) < 0 ||
        contents_render(ck, comm->rank, list, n_list, &own, &n_own) < 0)
        rc = error_no_memory(err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = contents_receive(contents, comm, own, n_own, err);
    if (rc == 0)
        rc = contents_settle(ck, comm, contents, list, n_list, err);
    free(list);
    free(own);
    return rc;
}
