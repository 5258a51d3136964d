/*
 * reducer_staged.c - the transport of gradients on a GPU through host memory.
 *
 * A complete bucket is copied out on a stream of the reducer, once the caller's stream
 * has reached the point at which it was complete. When the copy is done, which each
 * call tests, the communicator reduces it, as in reducer_host.c. The means are copied
 * back on another stream, for which the caller's stream waits at the end of a step. The
 * host waits for other ranks only.
 *
 * The numbers are reduced in the kind of memory that they would have if the tensors
 * were on the host, so that the means have the same bits: in memory of the communicator
 * if they are widened, or if the reducer provides the memory of all tensors, else in
 * memory of this process. The GPU copies to and from pinned memory. That is the memory
 * in which they are reduced, unless they are widened, or the memory of the communicator
 * cannot be pinned.
 *
 * A copy out is ordered after the copies back of the step before, since the caller's
 * stream is, and after the caller's work for this step.
 */
#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "device/stream.h"
#include "reduce/reducer_impl.h"
#include "util/clock.h"

/* A bucket, or all parameters. */
struct stage {
    char *pinned; /* where the GPU copies from and to */
    struct device_mark fetched;
};

/* Memory of the communicator. */
struct common {
    char *data;
    size_t n_bytes;
    bool is_pinned;
};

struct staged {
    struct device_stream *out, *in;
    struct device_mark end;
    void *device_memory;          /* for tensors without memory of their own */
    struct common common, params; /* for buckets; for parameters */
    void *pinned, *pinned_params; /* memory of this process */
    struct stage *stages;         /* for the buckets, then for the parameters */
    bool *joins;                  /* for each gradient: see joins_find() */
    struct comm_parts *parts;     /* of the parameters, in host memory */
};

/* ---- Memory ---- */

static int staged_open(raytrain_reducer *r, struct error *err)
{
    struct staged *s = r->staged = calloc(1, sizeof *s);

    if (s) {
        s->stages = calloc(r->n_buckets + 1, sizeof *s->stages);
        s->joins = calloc(r->n, sizeof *s->joins);
    }
    if (!s || !s->stages || !s->joins)
        return error_no_memory(err);
    if (device_stream_create(r->device, r->device_id, &s->out, err) < 0 ||
        device_stream_create(r->device, r->device_id, &s->in, err) < 0 ||
        device_mark_init(s->out, &s->end, err) < 0)
        return -1;
    for (size_t i = 0; i <= r->n_buckets; i++)
        if (device_mark_init(s->out, &s->stages[i].fetched, err) < 0)
            return -1;
    return 0;
}

static int staged_place_tensors(raytrain_reducer *r, struct error *err)
{
    size_t bytes = tensors_place(r, NULL);
    int rc = staged_open(r, err);

    if (rc == 0 && bytes > 0)
        rc = device_memory_alloc(r->staged->out, bytes, &r->staged->device_memory, err);
    if (rc == 0)
        tensors_place(r, r->staged->device_memory);
    return comm_agree(r->comm, rc, err);
}

/* COLLECTIVE: memory of the communicator, pinned if that is possible. */
static int common_alloc(raytrain_reducer *r, size_t n_bytes, struct common *c,
                        struct error *err)
{
    struct error ignored;
    void *data = NULL;

    if (n_bytes == 0)
        return 0;
    if (r->comm->ops->alloc(r->comm, COMM_HOST, n_bytes, &data, err) < 0)
        return -1;
    *c = (struct common){data, n_bytes, false};
    c->is_pinned = device_pin(r->staged->out, data, n_bytes, &ignored) == 0;
    return 0;
}

static void common_release(struct staged *s, struct common *c)
{
    if (c->is_pinned)
        device_unpin(s->out, c->data);
    c->is_pinned = false;
}

/* Would the bucket be in memory of the communicator if its tensors were on the host? */
static bool is_common(const raytrain_reducer *r, const struct bucket *b)
{
    bool ours = true;

    for (size_t i = b->first; i < b->first + b->n; i++)
        ours = ours && (r->is_ours[i] || gradient_elements(&r->tensors[i]) == 0);
    return ours || b->type->widen;
}

/* The size of an element of the bucket's tensors. */
static size_t element_size(const raytrain_reducer *r, const struct bucket *b)
{
    return raytrain_dtype_size(r->tensors[b->first].dtype);
}

/* Lay out buckets in memory of the communicator. Returns the bytes; base is NULL to
 * count them only. */
static size_t common_lay(raytrain_reducer *r, char *base)
{
    size_t at = 0;

    for (size_t i = 0; i < r->n_buckets; i++) {
        struct bucket *b = &r->buckets[i];

        if (!is_common(r, b))
            continue;
        at = reducer_aligned(at);
        b->data = base ? base + at : NULL;
        at += b->elements * comm_type_size(b->type->type);
    }
    return at;
}

/* Lay out the other pinned memory, which belongs to this process. */
static size_t pinned_lay(raytrain_reducer *r, char *base)
{
    struct staged *s = r->staged;
    size_t at = 0;

    for (size_t i = 0; i < r->n_buckets; i++) {
        struct bucket *b = &r->buckets[i];

        if (is_common(r, b) && !b->type->widen && s->common.is_pinned) {
            s->stages[i].pinned = b->data;
            continue;
        }
        at = reducer_aligned(at);
        s->stages[i].pinned = base ? base + at : NULL;
        at += b->elements * element_size(r, b);
        if (!is_common(r, b))
            b->data = s->stages[i].pinned;
    }
    return at;
}

/* Which gradients follow the one before them in their bucket, in one allocation? */
static int joins_find(raytrain_reducer *r, const struct bucket *b, struct error *err)
{
    char *begin = NULL, *end = NULL;

    for (size_t i = b->first; i < b->first + b->n; i++) {
        const raytrain_tensor *t = &r->tensors[i];
        char *data = t->data;
        size_t n = gradient_bytes(t);

        if (n == 0)
            continue;
        if (data == end && tensors_are_one(r, begin, (size_t)(end - begin) + n,
                                           &r->staged->joins[i], err) < 0)
            return -1;
        begin = data;
        end = data + n;
    }
    return 0;
}

static int staged_place_buckets(raytrain_reducer *r, struct error *err)
{
    struct staged *s = r->staged;
    size_t bytes;
    int rc = 0;

    if (common_alloc(r, common_lay(r, NULL), &s->common, err) < 0)
        return -1;
    common_lay(r, s->common.data);
    bytes = pinned_lay(r, NULL);
    if (bytes > 0)
        rc = device_pinned_alloc(s->out, bytes, &s->pinned, err);
    if (rc == 0)
        pinned_lay(r, s->pinned);
    for (size_t i = 0; rc == 0 && i < r->n_buckets; i++)
        rc = joins_find(r, &r->buckets[i], err);
    return comm_agree(r->comm, rc, err);
}

/* ---- Copies ---- */

/* A range of GPU memory, and its place in pinned memory. */
struct run {
    char *device, *host;
    size_t n_bytes;
};

static int run_copy(const struct staged *s, const struct run *run, bool out,
                    struct error *err)
{
    if (run->n_bytes == 0)
        return 0;
    return out ? device_stream_copy_out(s->out, run->host, run->device, run->n_bytes,
                                        err)
               : device_stream_copy_in(s->in, run->device, run->host, run->n_bytes,
                                       err);
}

/* A range that joins the run is copied with it, since the tensors of a bucket are
 * adjacent in pinned memory. */
static int run_extend(const struct staged *s, struct run *run, const struct run *next,
                      bool joins, bool out, struct error *err)
{
    if (run->n_bytes > 0 && joins) {
        run->n_bytes += next->n_bytes;
        return 0;
    }
    if (run_copy(s, run, out, err) < 0)
        return -1;
    *run = *next;
    return 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copy elements [from, to) of a bucket, whose tensors are not adjacent. */
static int tensors_copy(const raytrain_reducer *r, const struct bucket *b, size_t from,
                        size_t to, bool out, struct error *err)
{
    const struct staged *s = r->staged;
    size_t width = element_size(r, b), at = 0;
    char *pinned = s->stages[b - r->buckets].pinned;
    struct run run = {0};

    for (size_t i = b->first; i < b->first + b->n; i++) {
        const raytrain_tensor *t = &r->tensors[i];
        size_t n = gradient_elements(t), begin = larger(at, from),
               end = smaller(at + n, to);

        if (begin < end) {
            struct run next = {(char *)t->data + (begin - at) * width,
                               pinned + begin * width, (end - begin) * width};

            if (run_extend(s, &run, &next, s->joins[i], out, err) < 0)
                return -1;
        }
        at += n;
    }
    return run_copy(s, &run, out, err);
}

static int elements_copy(const raytrain_reducer *r, const struct bucket *b, size_t from,
                         size_t to, bool out, struct error *err)
{
    size_t width = element_size(r, b);
    struct run run = {b->span + from * width,
                      r->staged->stages[b - r->buckets].pinned + from * width,
                      (to - from) * width};

    return b->span ? run_copy(r->staged, &run, out, err)
                   : tensors_copy(r, b, from, to, out, err);
}

/* ---- The steps of a bucket ---- */

static int staged_ready(raytrain_reducer *r, struct error *err)
{
    return device_stream_after_caller(r->staged->out, err);
}

static int staged_complete(raytrain_reducer *r, struct bucket *b, struct error *err)
{
    struct staged *s = r->staged;

    if (elements_copy(r, b, 0, b->elements, true, err) < 0)
        return -1;
    return device_mark_set(s->out, &s->stages[b - r->buckets].fetched, err);
}

static void staged_collect(const raytrain_reducer *r, struct bucket *b)
{
    const char *pinned = r->staged->stages[b - r->buckets].pinned;

    if (b->type->widen)
        b->type->widen((float *)(void *)b->data, (const void *)pinned, b->elements);
    else if (pinned != b->data)
        memcpy(b->data, pinned, b->elements * element_size(r, b));
}

/* Copy the means of elements [from, to) to pinned memory. */
static void staged_spread(const raytrain_reducer *r, const struct bucket *b,
                          size_t from, size_t to)
{
    size_t width = element_size(r, b);
    char *pinned = r->staged->stages[b - r->buckets].pinned + from * width;
    const char *data = b->data + from * comm_type_size(b->type->type);

    if (b->type->narrow)
        b->type->narrow((void *)pinned, (const float *)(const void *)data, to - from);
    else if (pinned != data)
        memcpy(pinned, data, (to - from) * width);
}

static int staged_start(raytrain_reducer *r, struct bucket *b, bool *started,
                        struct error *err)
{
    struct staged *s = r->staged;

    if (device_mark_test(s->out, &s->stages[b - r->buckets].fetched, started, err) < 0)
        return -1;
    if (!*started)
        return 0;
    staged_collect(r, b);
    return bucket_reduce(r, b, err);
}

/* In a sharded bucket, this rank needs only the means of its part. */
static int staged_test(raytrain_reducer *r, struct bucket *b, struct error *err)
{
    size_t from = b->cuts ? b->cuts[r->comm->rank] : 0;
    size_t to = b->cuts ? b->cuts[r->comm->rank + 1] : b->elements;

    if (bucket_test(r, b, err) < 0)
        return -1;
    if (!b->finished)
        return 0;
    staged_spread(r, b, from, to);
    return elements_copy(r, b, from, to, false, err);
}

static int staged_settle(raytrain_reducer *r, struct error *err)
{
    return device_stream_before_caller(r->staged->in, err);
}

/* ---- Parameters ---- */

static size_t params_lay(raytrain_reducer *r, char *base)
{
    struct staged *s = r->staged;
    size_t at = 0;

    for (size_t i = 0; i < r->n_params; i++) {
        at = reducer_aligned(at);
        s->parts[i] = (struct comm_parts){base ? base + at : NULL, r->parts[i].cuts};
        at += r->parts[i].cuts[r->comm->size];
    }
    return at;
}

static int staged_place_params(raytrain_reducer *r, struct error *err)
{
    struct staged *s = r->staged;
    int rc = 0;

    s->parts = calloc(r->n_params, sizeof *s->parts);
    if (!s->parts)
        rc = error_no_memory(err);
    if (comm_agree(r->comm, rc, err) < 0 ||
        common_alloc(r, params_lay(r, NULL), &s->params, err) < 0)
        return -1;
    params_lay(r, s->params.data);
    if (!s->params.is_pinned && s->params.n_bytes > 0)
        rc = device_pinned_alloc(s->out, s->params.n_bytes, &s->pinned_params, err);
    return comm_agree(r->comm, rc, err);
}

/* Bytes [from, to) of parameter i: on the GPU, in pinned memory, and where ranks
 * exchange them, which may be the same place. */
struct param_range {
    struct run run;
    char *data;
};

static struct param_range param_range(const raytrain_reducer *r, size_t i, size_t from,
                                      size_t to)
{
    const struct staged *s = r->staged;
    char *data = (char *)s->parts[i].data + from, *pinned = data;

    if (s->pinned_params)
        pinned = (char *)s->pinned_params + (data - s->params.data);
    return (struct param_range){{(char *)r->parts[i].data + from, pinned, to - from},
                                data};
}

static struct param_range own_range(const raytrain_reducer *r, size_t i)
{
    const size_t *cuts = r->parts[i].cuts;

    return param_range(r, i, cuts[r->comm->rank], cuts[r->comm->rank + 1]);
}

/* Wait on the host for at most at_most_s seconds (0: without limit); *reached: the mark
 * was reached. */
static int mark_wait(struct staged *s, struct device_mark *mark, double at_most_s,
                     bool *reached, struct error *err)
{
    double begun = clock_now();

    for (;;) {
        if (device_mark_test(s->out, mark, reached, err) < 0)
            return -1;
        if (*reached || (at_most_s > 0 && clock_now() - begun > at_most_s))
            return 0;
        sched_yield();
    }
}

static int own_params_fetch(raytrain_reducer *r, struct error *err)
{
    struct staged *s = r->staged;
    struct device_mark *fetched = &s->stages[r->n_buckets].fetched;
    bool reached;

    if (device_stream_after_caller(s->out, err) < 0)
        return -1;
    for (size_t i = 0; i < r->n_params; i++) {
        struct param_range own = own_range(r, i);

        if (run_copy(s, &own.run, true, err) < 0)
            return -1;
    }
    if (device_mark_set(s->out, fetched, err) < 0 ||
        mark_wait(s, fetched, 0, &reached, err) < 0)
        return -1;
    for (size_t i = 0; s->pinned_params && i < r->n_params; i++) {
        struct param_range own = own_range(r, i);

        memcpy(own.data, own.run.host, own.run.n_bytes);
    }
    return 0;
}

static int range_store(struct staged *s, struct param_range range, struct error *err)
{
    if (range.data != range.run.host)
        memcpy(range.run.host, range.data, range.run.n_bytes);
    return run_copy(s, &range.run, false, err);
}

/* Copy the parts of the other ranks to the GPU, which has this rank's. */
static int other_params_store(raytrain_reducer *r, struct error *err)
{
    int rank = r->comm->rank, size = r->comm->size;

    for (size_t i = 0; i < r->n_params; i++) {
        const size_t *cuts = r->parts[i].cuts;

        if (range_store(r->staged, param_range(r, i, 0, cuts[rank]), err) < 0 ||
            range_store(r->staged, param_range(r, i, cuts[rank + 1], cuts[size]), err) <
                0)
            return -1;
    }
    return staged_settle(r, err);
}

static int staged_gather(raytrain_reducer *r, struct error *err)
{
    if (own_params_fetch(r, err) < 0 || parts_gather(r, r->staged->parts, err) < 0)
        return -1;
    return other_params_store(r, err);
}

/* ---- The end ---- */

/* Has the GPU done all that is queued? After a failure it has abandoned all work. */
static bool copies_ended(struct staged *s)
{
    struct error ignored;
    bool reached;

    if (!s->out || !s->in || !s->end.event)
        return true; /* nothing was queued */
    return device_stream_after(s->out, s->in, &ignored) < 0 ||
           device_mark_set(s->out, &s->end, &ignored) < 0 ||
           mark_wait(s, &s->end, ABANDON_S, &reached, &ignored) < 0 || reached;
}

static void memory_release(struct staged *s, bool idle)
{
    common_release(s, &s->common);
    common_release(s, &s->params);
    if (s->pinned && idle)
        device_pinned_free(s->out, s->pinned);
    if (s->pinned_params)
        device_pinned_free(s->out, s->pinned_params);
    if (s->device_memory)
        device_memory_free(s->out, s->device_memory);
}

static bool staged_close(raytrain_reducer *r, bool idle)
{
    struct staged *s = r->staged;
    bool ended;

    if (!s)
        return idle;
    ended = copies_ended(s);
    if (ended)
        memory_release(s, idle);
    for (size_t i = 0; s->stages && s->out && i <= r->n_buckets; i++)
        device_mark_clear(s->out, &s->stages[i].fetched);
    if (s->out)
        device_mark_clear(s->out, &s->end);
    device_stream_destroy(s->in);
    device_stream_destroy(s->out);
    free(s->parts);
    free(s->joins);
    free(s->stages);
    free(s);
    r->staged = NULL;
    return idle && ended;
}

const struct reducer_transport reducer_staged = {
    .widens = true,
    .place_tensors = staged_place_tensors,
    .place_buckets = staged_place_buckets,
    .place_params = staged_place_params,
    .ready = staged_ready,
    .complete = staged_complete,
    .start = staged_start,
    .test = staged_test,
    .settle = staged_settle,
    .gather = staged_gather,
    .close = staged_close,
};
