/*
 * random_streams.h - the random streams of raytrain.h.
 *
 * A stream is the sequence of Philox blocks with key = seed and counter = (block
 * number, rank, kind): two streams of a seed never share a block. Its state is the
 * count of 64-bit numbers that have been drawn.
 *
 * Every checkpoint has the states of all ranks that this run ever had. If it is
 * restored on fewer workers, the states of the missing ranks are kept; if on more, each
 * new rank begins at the start of its own stream. So no number is drawn twice.
 */
#ifndef RAYTRAIN_SESSION_RANDOM_STREAMS_H
#define RAYTRAIN_SESSION_RANDOM_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct random_stream {
    uint32_t key[2];
    uint32_t rank, kind;
    uint64_t drawn; /* 64-bit numbers so far */
    uint64_t block; /* the block that is in `out`; UINT64_MAX: none */
    uint32_t out[4];
};

struct session_random {
    struct random_stream rank, shared;
    /* What checkpoints contain: drawn[r] of each rank r. The numbers of ranks beyond
     * this world's size stay as they are; those of the other ranks are collected at
     * each save. */
    uint64_t *rank_drawn, *shared_drawn;
    size_t n_ranks;
    struct random_drawn {
        uint64_t rank, shared;
    } * drawn; /* of the ranks of this world, as collected */
};

/*
 * Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
 * 2, 3", SC11): a block of 128 random bits as a function of counter and key.
 */
void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

void random_stream_init(struct random_stream *s, uint64_t seed, uint32_t rank,
                        uint32_t kind);
uint64_t random_stream_next(struct random_stream *s);

int session_random_init(struct session_random *r, uint64_t seed, int rank, int size,
                        struct error *err);
void session_random_clear(struct session_random *r);

#endif
