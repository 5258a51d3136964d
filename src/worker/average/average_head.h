/*
 * average_head.h - the head of a rank's block (average.h), which the ranks exchange,
 * and which a process shares with its companion, which has made the memory.
 */
#ifndef RAYTRAIN_AVERAGE_AVERAGE_HEAD_H
#define RAYTRAIN_AVERAGE_AVERAGE_HEAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Ranges that a rank may be ahead of another. */
#define AVERAGE_SAID 4096

/* For how many ranges a rank has added its numbers; has combined its part; and has read
 * those of others, which may then overwrite them. */
enum average_word { ADDED, COMBINED, DONE, AVERAGE_WORDS };

/* Written by its rank only. */
struct average_counter {
    _Alignas(64) _Atomic uint64_t ranges;
};

struct average_head {
    struct average_counter counters[AVERAGE_WORDS];
    _Alignas(64) _Atomic uint64_t steps; /* finished by this rank */
    /* In rank 0's head only: how many threads sleep, and what they sleep on. */
    _Alignas(64) _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t bell;
    _Alignas(64) uint64_t said[AVERAGE_SAID]; /* identifies the ranges, by number */
};

/* Zeros at first. The numbers follow it. */
#define AVERAGE_HEAD_BYTES sizeof(struct average_head)

#endif
