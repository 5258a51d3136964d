/*
 * slab.c - the arithmetic of slabs: their order in memory, cuts, common boxes, and
 * whether slabs cover a tensor. slab_io.c reads and writes their bytes.
 */
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
        /* The product of the others must fit, too, so that strides fit. */
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

void slab_stream_init(struct slab_stream *stream, int ndim, const uint64_t *shape,
                      uint64_t element_bytes, const raytrain_slab *slab)
{
    uint64_t stride = element_bytes; /* of one step along the current axis */
    int d = ndim;

    memset(stream, 0, sizeof *stream);
    stream->segment_bytes = element_bytes;
    if (slab_is_empty(ndim, slab))
        return;
    /* A segment spans the inner axes that are whole, and the first one that is not. */
    while (d > 0) {
        d--;
        stream->segment_bytes *= slab->count[d];
        stream->base += slab->start[d] * stride;
        stride *= shape[d];
        if (slab->count[d] != shape[d])
            break;
    }
    stream->bytes = stream->segment_bytes;
    stream->n_outer = d;
    while (d > 0) {
        d--;
        stream->count[d] = slab->count[d];
        stream->stride[d] = stride;
        stream->bytes *= slab->count[d];
        stream->base += slab->start[d] * stride;
        stride *= shape[d];
    }
}

uint64_t slab_stream_at(const struct slab_stream *stream, uint64_t position,
                        uint64_t *left)
{
    uint64_t within = position % stream->segment_bytes;
    uint64_t number = position / stream->segment_bytes;
    uint64_t offset = stream->base + within;

    for (int d = stream->n_outer - 1; d >= 0; d--) {
        offset += number % stream->count[d] * stream->stride[d];
        number /= stream->count[d];
    }
    *left = stream->segment_bytes - within;
    return offset;
}

uint64_t slab_stream_find(const struct slab_stream *stream, uint64_t offset)
{
    uint64_t step = stream->bytes, position = 0;

    if (offset <= stream->base)
        return 0;
    offset -= stream->base;
    for (int d = 0; d < stream->n_outer && step > 0; d++) {
        uint64_t i = offset / stream->stride[d];

        if (i >= stream->count[d])
            return position + step;
        step /= stream->count[d]; /* bytes of the stream for one step along the axis */
        position += i * step;
        offset -= i * stream->stride[d];
    }
    return position + (offset < step ? offset : step);
}

void slab_stream_scatter(const struct slab_stream *stream, uint64_t from, uint64_t to,
                         const void *bytes, void *tensor, uint64_t first)
{
    const unsigned char *next = bytes;

    while (from < to) {
        uint64_t left, offset = slab_stream_at(stream, from, &left);
        uint64_t n = left < to - from ? left : to - from;

        memcpy((unsigned char *)tensor + (offset - first), next, n);
        next += n;
        from += n;
    }
}

void slab_cut_init(struct slab_cut *cut, int ndim, uint64_t element_bytes,
                   const raytrain_slab *slab, uint64_t most)
{
    uint64_t inner = element_bytes; /* of one step along the axis before d */
    int d = ndim;

    while (d > 0 && inner <= most / slab->count[d - 1])
        inner *= slab->count[--d];
    *cut =
        (struct slab_cut){.slab = slab, .ndim = ndim, .element_bytes = element_bytes};
    if (d > 0) {
        cut->axis = d - 1;
        cut->step = inner < most ? most / inner : 1;
    } else if (ndim > 0) {
        cut->step = slab->count[0];
    }
}

/* Advance along the axis, and then along the outer ones, like an odometer. */
static void cut_advance(struct slab_cut *cut)
{
    uint64_t by = cut->step;

    cut->over = true;
    for (int d = cut->axis; d >= 0 && cut->over && cut->ndim > 0; d--, by = 1) {
        cut->at[d] += by;
        cut->over = cut->at[d] >= cut->slab->count[d];
        if (cut->over)
            cut->at[d] = 0;
    }
}

bool slab_cut_next(struct slab_cut *cut, raytrain_slab *box, uint64_t *bytes)
{
    if (cut->over)
        return false;
    *box = *cut->slab;
    *bytes = cut->element_bytes;
    for (int d = 0; d < cut->ndim; d++) {
        uint64_t left = cut->slab->count[d] - cut->at[d];

        box->start[d] += cut->at[d];
        if (d < cut->axis)
            box->count[d] = 1;
        else if (d == cut->axis)
            box->count[d] = left < cut->step ? left : cut->step;
        *bytes *= box->count[d];
    }
    cut_advance(cut);
    return true;
}

bool slab_common(int ndim, const raytrain_slab *a, const raytrain_slab *b,
                 raytrain_slab *both)
{
    for (int d = 0; d < ndim; d++) {
        uint64_t end_a = a->start[d] + a->count[d], end_b = b->start[d] + b->count[d];
        uint64_t start = a->start[d] > b->start[d] ? a->start[d] : b->start[d];
        uint64_t end = end_a < end_b ? end_a : end_b;

        if (start >= end)
            return false;
        both->start[d] = start;
        both->count[d] = end - start;
    }
    return true;
}

/* ---- Equal slabs ---- */

static int numbers_compare(int n, const uint64_t *a, const uint64_t *b)
{
    for (int d = 0; d < n; d++)
        if (a[d] != b[d])
            return a[d] < b[d] ? -1 : 1;
    return 0;
}

bool slab_equal(int ndim, const raytrain_slab *a, const raytrain_slab *b)
{
    return numbers_compare(ndim, a->start, b->start) == 0 &&
           numbers_compare(ndim, a->count, b->count) == 0;
}

int slab_order(const void *a, const void *b, void *ndim)
{
    const struct rank_slab *p = a, *q = b;
    int n = *(int *)ndim, order = numbers_compare(n, p->slab.start, q->slab.start);

    if (order == 0)
        order = numbers_compare(n, p->slab.count, q->slab.count);
    return order != 0 ? order : (p->rank > q->rank) - (p->rank < q->rank);
}

/* ---- Coverage ---- */

/* qsort_r's argument: the axis to sort along. */
static int slab_compare(const void *a, const void *b, void *axis)
{
    const struct rank_slab *p = a, *q = b;
    int d = *(int *)axis;

    if (p->slab.start[d] != q->slab.start[d])
        return p->slab.start[d] < q->slab.start[d] ? -1 : 1;
    return (p->rank > q->rank) - (p->rank < q->rank);
}

static bool slabs_meet(int ndim, const raytrain_slab *a, const raytrain_slab *b)
{
    for (int d = 0; d < ndim; d++)
        if (a->start[d] >= b->start[d] + b->count[d] ||
            b->start[d] >= a->start[d] + a->count[d])
            return false;
    return true;
}

/* The axis along which the tensor is cut most often: sorted along it, a slab has few
 * neighbours, and the search for overlaps is short. */
static int axis_most_cut(int ndim, struct rank_slab *slabs, size_t n)
{
    size_t most = 0;
    int best = 0;

    for (int d = 0; d < ndim; d++) {
        size_t cuts = 0;

        qsort_r(slabs, n, sizeof *slabs, slab_compare, &d);
        for (size_t i = 1; i < n; i++)
            cuts += slabs[i].slab.start[d] != slabs[i - 1].slab.start[d];
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
                     "tensor '%s': the slabs of ranks %d and %d overlap; two slabs "
                     "must be equal, or have no element in common",
                     name, a < b ? a : b, a < b ? b : a);
}

int slab_cover(const char *name, int ndim, const uint64_t *shape,
               struct rank_slab *slabs, size_t n, struct error *err)
{
    uint64_t have = 0, want;
    int axis = axis_most_cut(ndim, slabs, n);

    if (slab_tensor_bytes(ndim, shape, 1, &want) < 0)
        return error_set(err, RAYTRAIN_EINVAL, "tensor '%s' is too large", name);
    if (n > 1)
        qsort_r(slabs, n, sizeof *slabs, slab_compare, &axis);
    for (size_t i = 0; i < n; i++) {
        const raytrain_slab *a = &slabs[i].slab;
        uint64_t volume = 1;

        for (int d = 0; d < ndim; d++)
            volume *= a->count[d];
        have += volume;
        if (ndim == 0 && i > 0)
            return overlap_error(name, slabs[0].rank, slabs[i].rank, err);
        for (size_t j = i + 1; ndim > 0 && j < n; j++) {
            if (slabs[j].slab.start[axis] >= a->start[axis] + a->count[axis])
                break;
            if (slabs_meet(ndim, a, &slabs[j].slab))
                return overlap_error(name, slabs[i].rank, slabs[j].rank, err);
        }
    }
    /* The slabs are disjoint and within the tensor: if they have as many elements as it
     * has, they cover it. */
    if (have != want)
        return error_set(err, RAYTRAIN_EINVAL,
                         "tensor '%s': the ranks' slabs cover %" PRIu64 " of %" PRIu64
                         " elements; together the ranks must put every element "
                         "exactly once",
                         name, have, want);
    return 0;
}
