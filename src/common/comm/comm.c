/*
 * comm.c - what all implementations of the communicator share: checks, agreement on an
 * outcome, and rows that travel down a tree.
 */
#include "comm/comm.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t comm_type_size(enum comm_type type)
{
    switch (type) {
    case COMM_FLOAT32:
        return sizeof(float);
    case COMM_FLOAT64:
        return sizeof(double);
    case COMM_INT64:
        return sizeof(int64_t);
    case COMM_STAT:
        return sizeof(struct comm_stat);
    }
    return 0;
}

bool comm_reaches(const struct comm *c, enum comm_place place)
{
    return place == COMM_HOST || (c->ops->reaches && c->ops->reaches(place));
}

int comm_check_place(const struct comm *c, enum comm_place place, struct error *err)
{
    static const char *const names[COMM_PLACES] = {[COMM_HOST] = "of the host",
                                                   [COMM_CUDA] = "of a CUDA device",
                                                   [COMM_HIP] = "of a HIP device"};

    if (place == COMM_HOST)
        return 0;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "the communicator \"%s\" cannot use memory %s: copy the data into "
                     "memory of the host first",
                     c->ops->name,
                     (unsigned)place < COMM_PLACES ? names[place]
                                                   : "of an unknown kind");
}

void comm_free(struct comm *c)
{
    if (c)
        c->ops->free(c);
}

/* The message of the failing rank to the others. It has a fixed size: one broadcast,
 * and no size from another rank that must be trusted. */
struct verdict {
    int64_t code;
    char text[ERROR_TEXT_MAX];
};

static void verdict_fill(struct verdict *v, const struct error *err)
{
    memset(v, 0, sizeof *v);
    if (err) {
        v->code = err->code;
        memcpy(v->text, err->text, strnlen(err->text, sizeof v->text - 1));
    } else {
        v->code = RAYTRAIN_EFAILED;
        strcpy(v->text, "failed, and left no message");
    }
}

int comm_agree(struct comm *c, int rc, struct error *err)
{
    /* Set err only for a failure of the communication itself: if rc says that this rank
     * failed, err already holds the reason. */
    struct error lost;
    int64_t first = rc == 0 ? c->size : c->rank;
    struct verdict v;

    if (c->size == 1)
        return rc == 0 ? 0 : -1;
    if (c->ops->allreduce(c, &first, 1, COMM_INT64, COMM_MIN, &lost) < 0)
        goto cut_off;
    if (first >= c->size)
        return 0;
    if (first == c->rank)
        verdict_fill(&v, err);
    if (c->ops->bcast(c, &v, sizeof v, (int)first, &lost) < 0)
        goto cut_off;
    if (first == c->rank)
        return -1;
    v.text[sizeof v.text - 1] = '\0';
    return error_set(err, (raytrain_status)v.code, "rank %d: %s", (int)first, v.text);
cut_off:
    if (rc == 0)
        error_set(err, lost.code, "%s", lost.text);
    return -1;
}

int comm_bcast_alloc(struct comm *c, void **data, size_t n, int root, struct error *err)
{
    int rc = 0;

    if (c->rank != root && !(*data = malloc(n + 1)))
        rc = error_no_memory(err);
    rc = comm_agree(c, rc, err);
    return rc == 0 && n > 0 ? c->ops->bcast(c, *data, n, root, err) : rc;
}

/* The subtree of a rank is the rank itself and those that follow it, up to this
 * many. */
static int subtree(int rank, int size)
{
    int n = 1;

    while (rank == 0 ? n < size : (rank & n) == 0)
        n *= 2;
    return n;
}

/* Receive the rows of this rank's subtree, unless it is rank 0, and pass them on. */
static int rows_pass(struct comm *c, char *rows, size_t row_bytes, struct error *err)
{
    int span = subtree(c->rank, c->size), left = c->size - c->rank, rc = 0;
    size_t n = (size_t)(span < left ? span : left) * row_bytes;

    if (c->rank != 0)
        rc = c->ops->sendrecv(c, NULL, 0, -1, rows, n, c->rank - span, err);
    for (span /= 2; rc == 0 && span > 0; span /= 2) {
        int next = c->rank + span, rest = c->size - next;

        if (rest > 0)
            rc = c->ops->sendrecv(c, rows + (size_t)span * row_bytes,
                                  (size_t)(span < rest ? span : rest) * row_bytes, next,
                                  NULL, 0, -1, err);
    }
    return rc;
}

int comm_scatter(struct comm *c, const void *rows, size_t row_bytes, void **mine,
                 struct error *err)
{
    char *own = malloc(row_bytes + 1),
         *all = c->rank == 0 ? (char *)(uintptr_t)rows : NULL;
    int rc = 0;

    *mine = NULL;
    if (c->rank != 0)
        all = malloc((size_t)subtree(c->rank, c->size) * row_bytes + 1);
    if (!own || !all)
        rc = error_no_memory(err);
    rc = comm_agree(c, rc, err);
    if (rc == 0 && row_bytes > 0)
        rc = rows_pass(c, all, row_bytes, err);
    if (rc == 0) {
        memcpy(own, all, row_bytes);
        *mine = own;
        own = NULL;
    }
    free(own);
    if (c->rank != 0)
        free(all);
    return rc;
}
