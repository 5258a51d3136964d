/* random_calls.c - the calls of raytrain.h that draw random numbers. */
#include <math.h>

#include "session/random_streams.h"
#include "session/session.h"

#define TWO_PI 6.283185307179586

static struct random_stream *stream_find(raytrain_context *ctx, raytrain_stream s)
{
    if (ctx && s == RAYTRAIN_STREAM_RANK)
        return &ctx->random.rank;
    if (ctx && s == RAYTRAIN_STREAM_SHARED)
        return &ctx->random.shared;
    error_set(session_error(ctx), RAYTRAIN_EINVAL, "raytrain_random: %s",
              ctx ? "there is no stream with this number" : "the context is NULL");
    return NULL;
}

/* The upper 53 bits: all doubles of [0,1) with this spacing, each equally likely. */
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

/* Uses one of the two values of the Box-Muller transform, so that the stream's state
 * stays a single number. 1 - u lies in (0,1], where the logarithm is finite. */
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
