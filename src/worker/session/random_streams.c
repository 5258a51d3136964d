/* random_streams.c - the generator, a stream, and the streams of a session. */
#include "session/random_streams.h"

#include <stdlib.h>

enum { KIND_RANK, KIND_SHARED };

/* ---- Philox ---- */

#define PHILOX_ROUNDS 10

/* The multipliers of the paper, and its Weyl sequence for the key: the golden ratio and
 * the square root of three less one, as fractions of 2^32. */
static const uint32_t multiplier[2] = {0xd2511f53, 0xcd9e8d57};
static const uint32_t weyl[2] = {0x9e3779b9, 0xbb67ae85};

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key[0], key[1]};

    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t a = (uint64_t)multiplier[0] * x[0];
        uint64_t b = (uint64_t)multiplier[1] * x[2];

        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ k[0];
        x[1] = (uint32_t)b;
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ k[1];
        x[3] = (uint32_t)a;
        k[0] += weyl[0];
        k[1] += weyl[1];
    }
    for (int i = 0; i < 4; i++)
        out[i] = x[i];
}

/* ---- A stream ---- */

void random_stream_init(struct random_stream *s, uint64_t seed, uint32_t rank,
                        uint32_t kind)
{
    *s = (struct random_stream){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                                .rank = rank,
                                .kind = kind,
                                .block = UINT64_MAX};
}

/* A block of 128 bits is used for two draws. */
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

/* ---- The streams of a session ---- */

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
    return error_no_memory(err);
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
