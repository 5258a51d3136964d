#include "config.h"

#include "checkpoint/slab.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int slab_tensor_bytes(int ndim, const uint64_t *shape, uint64_t element_bytes,
                      uint64_t *bytes)
{
    uint64_t total = element_bytes;
    bool empty = false;

    if (ndim < 0 || ndim > RAYTRAIN_MAX_DIMS)
        return -1;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0)
            empty = true;
        /* The product of the others must fit, too, so that strides do. */
        else if (total > (uint64_t)INT64_MAX / shape[d])
            return -1;
        else
            total *= shape[d];
    }
    *bytes = empty ? 0 : total;
    return 0;
}

int slab_check(int ndim, const uint64_t *shape, const raytrain_slab *slab,
               struct error *err)
{
    for (int d = 0; d < ndim; d++)
        if (slab->start[d] > shape[d] || slab->count[d] > shape[d] - slab->start[d])
            return error_set(err, RAYTRAIN_EINVAL,
                             "the slab leaves the tensor: along axis %d it takes "
                             "%" PRIu64 " elements from %" PRIu64 " on, of %" PRIu64,
                             d, slab->count[d], slab->start[d], shape[d]);
    return 0;
}

bool slab_is_empty(int ndim, const raytrain_slab *slab)
{
    for (int d = 0; d < ndim; d++)
        if (slab->count[d] == 0)
            return true;
    return false;
}

void slab_whole(int ndim, const uint64_t *shape, raytrain_slab *slab)
{
    memset(slab, 0, sizeof *slab);
    for (int d = 0; d < ndim; d++)
        slab->count[d] = shape[d];
}

void slab_runs_init(struct slab_runs *runs, int ndim, const uint64_t *shape,
                    uint64_t element_bytes, const raytrain_slab *slab)
{
    uint64_t stride = element_bytes; /* of one step along the axis looked at */
    int d = ndim;

    memset(runs, 0, sizeof *runs);
    runs->run_bytes = element_bytes;
    if (slab_is_empty(ndim, slab))
        return;
    /* Inner axes taken whole, and the first one that is not, make up a run. */
    while (d > 0) {
        d--;
        runs->run_bytes *= slab->count[d];
        runs->base += slab->start[d] * stride;
        stride *= shape[d];
        if (slab->count[d] != shape[d])
            break;
    }
    runs->bytes = runs->run_bytes;
    runs->n_outer = d;
    while (d > 0) {
        d--;
        runs->count[d] = slab->count[d];
        runs->stride[d] = stride;
        runs->bytes *= slab->count[d];
        runs->base += slab->start[d] * stride;
        stride *= shape[d];
    }
}

uint64_t slab_runs_at(const struct slab_runs *runs, uint64_t position, uint64_t *left)
{
    uint64_t within = position % runs->run_bytes;
    uint64_t number = position / runs->run_bytes;
    uint64_t offset = runs->base + within;

    for (int d = runs->n_outer - 1; d >= 0; d--) {
        offset += number % runs->count[d] * runs->stride[d];
        number /= runs->count[d];
    }
    *left = runs->run_bytes - within;
    return offset;
}

uint64_t slab_runs_find(const struct slab_runs *runs, uint64_t offset)
{
    uint64_t step = runs->bytes, position = 0;

    if (offset <= runs->base)
        return 0;
    offset -= runs->base;
    for (int d = 0; d < runs->n_outer && step > 0; d++) {
        uint64_t i = offset / runs->stride[d];

        if (i >= runs->count[d])
            return position + step;
        step /= runs->count[d]; /* bytes of the stream for one step along the axis */
        position += i * step;
        offset -= i * runs->stride[d];
    }
    return position + (offset < step ? offset : step);
}

/* ---- Coverage ---------------------------------------------------------------------
 */

/* qsort_r's argument: the axis to sort along. */
static int piece_compare(const void *a, const void *b, void *axis)
{
    const struct slab_piece *p = a, *q = b;
    int d = *(int *)axis;

    if (p->slab.start[d] != q->slab.start[d])
        return p->slab.start[d] < q->slab.start[d] ? -1 : 1;
    return (p->rank > q->rank) - (p->rank < q->rank);
}

static bool pieces_meet(int ndim, const raytrain_slab *a, const raytrain_slab *b)
{
    for (int d = 0; d < ndim; d++)
        if (a->start[d] >= b->start[d] + b->count[d] ||
            b->start[d] >= a->start[d] + a->count[d])
            return false;
    return true;
}

/* The axis along which the tensor is cut most often: sorted along it, a piece has few
 * others beside it, and the search for overlaps is short. */
static int axis_most_cut(int ndim, struct slab_piece *pieces, size_t n)
{
    size_t most = 0;
    int best = 0;

    for (int d = 0; d < ndim; d++) {
        size_t cuts = 0;

        qsort_r(pieces, n, sizeof *pieces, piece_compare, &d);
        for (size_t i = 1; i < n; i++)
            cuts += pieces[i].slab.start[d] != pieces[i - 1].slab.start[d];
        if (cuts > most) {
            most = cuts;
            best = d;
        }
    }
    return best;
}

static int overlap_error(const char *name, int a, int b, struct error *err)
{
    if (a == b)
        return error_set(err, RAYTRAIN_EINVAL, "tensor '%s': rank %d puts it twice",
                         name, a);
    return error_set(err, RAYTRAIN_EINVAL,
                     "tensor '%s': the slabs of ranks %d and %d overlap; together the "
                     "ranks must put every element exactly once",
                     name, a < b ? a : b, a < b ? b : a);
}

int slab_cover(const char *name, int ndim, const uint64_t *shape,
               struct slab_piece *pieces, size_t n, struct error *err)
{
    uint64_t have = 0, want;
    int axis = axis_most_cut(ndim, pieces, n);

    if (slab_tensor_bytes(ndim, shape, 1, &want) < 0)
        return error_set(err, RAYTRAIN_EINVAL, "tensor '%s' is too large", name);
    if (n > 1)
        qsort_r(pieces, n, sizeof *pieces, piece_compare, &axis);
    for (size_t i = 0; i < n; i++) {
        const raytrain_slab *a = &pieces[i].slab;
        uint64_t volume = 1;

        for (int d = 0; d < ndim; d++)
            volume *= a->count[d];
        have += volume;
        if (ndim == 0 && i > 0)
            return overlap_error(name, pieces[0].rank, pieces[i].rank, err);
        for (size_t j = i + 1; ndim > 0 && j < n; j++) {
            if (pieces[j].slab.start[axis] >= a->start[axis] + a->count[axis])
                break;
            if (pieces_meet(ndim, a, &pieces[j].slab))
                return overlap_error(name, pieces[i].rank, pieces[j].rank, err);
        }
    }
    /* Disjoint and within the tensor: as many elements as it has means all of them. */
    if (have != want)
        return error_set(err, RAYTRAIN_EINVAL,
                         "tensor '%s': the ranks' slabs cover %" PRIu64 " of %" PRIu64
                         " elements; together the ranks must put every element "
                         "exactly once",
                         name, have, want);
    return 0;
}
