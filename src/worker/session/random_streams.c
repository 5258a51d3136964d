#include "session/random_streams.h"

#include <math.h>
#include <stdlib.h>

#include "session/philox.h"
#include "session/session.h"

enum { KIND_RANK, KIND_SHARED };

#define TWO_PI 6.283185307179586

void random_stream_init(struct random_stream *s, uint64_t seed, uint32_t rank,
                        uint32_t kind)
{
    *s = (struct random_stream){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                                .rank = rank,
                                .kind = kind,
                                .block = UINT64_MAX};
}

/* A block of 128 bits serves two draws. */
uint64_t random_stream_next(struct random_stream *s)
{
    uint64_t block = s->drawn / 2;
    int half = (int)(s->drawn % 2) * 2;

    if (block != s->block) {
        uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), s->rank,
                               s->kind};

        philox4x32_10(counter, s->key, s->out);
        s->block = block;
    }
    s->drawn++;
    return (uint64_t)s->out[half + 1] << 32 | s->out[half];
}

int session_random_init(struct session_random *r, uint64_t seed, int rank, int size,
                        struct error *err)
{
    random_stream_init(&r->rank, seed, (uint32_t)rank, KIND_RANK);
    random_stream_init(&r->shared, seed, 0, KIND_SHARED);
    r->n_ranks = (size_t)size;
    r->rank_drawn = calloc(r->n_ranks, sizeof *r->rank_drawn);
    r->shared_drawn = calloc(r->n_ranks, sizeof *r->shared_drawn);
    r->drawn = calloc(r->n_ranks, sizeof *r->drawn);
    if (r->rank_drawn && r->shared_drawn && r->drawn)
        return 0;
    session_random_clear(r);
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

void session_random_clear(struct session_random *r)
{
    free(r->rank_drawn);
    free(r->shared_drawn);
    free(r->drawn);
    r->rank_drawn = r->shared_drawn = NULL;
    r->drawn = NULL;
    r->n_ranks = 0;
}

static struct random_stream *stream_find(raytrain_context *ctx, raytrain_stream s)
{
    if (ctx && s == RAYTRAIN_STREAM_RANK)
        return &ctx->random.rank;
    if (ctx && s == RAYTRAIN_STREAM_SHARED)
        return &ctx->random.shared;
    error_set(session_error(ctx), RAYTRAIN_EINVAL, "raytrain_random: there is no %s",
              ctx ? "stream of this number" : "context (it is NULL)");
    return NULL;
}

/* The upper 53 bits: all doubles of [0,1) with this spacing, each as likely. */
static double stream_uniform(struct random_stream *s)
{
    return (double)(random_stream_next(s) >> 11) * 0x1p-53;
}

uint64_t raytrain_random_u64(raytrain_context *ctx, raytrain_stream s)
{
    struct random_stream *stream = stream_find(ctx, s);

    return stream ? random_stream_next(stream) : 0;
}

double raytrain_random_uniform(raytrain_context *ctx, raytrain_stream s)
{
    struct random_stream *stream = stream_find(ctx, s);

    return stream ? stream_uniform(stream) : 0;
}

/* Box and Muller's transform, one of its two values: so the stream's state stays one
 * number. 1 - u lies in (0,1], where the logarithm is finite. */
double raytrain_random_normal(raytrain_context *ctx, raytrain_stream s)
{
    struct random_stream *stream = stream_find(ctx, s);
    double radius, angle;

    if (!stream)
        return 0;
    radius = sqrt(-2 * log(1 - stream_uniform(stream)));
    angle = TWO_PI * stream_uniform(stream);
    return radius * cos(angle);
}
