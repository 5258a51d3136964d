/*
 * average_head.h - the head of a rank's block (average.h): what the ranks say to each other, and
 * a process to its companion, which has made the memory.
 */
#ifndef RAYTRAIN_AVERAGE_AVERAGE_HEAD_H
#define RAYTRAIN_AVERAGE_AVERAGE_HEAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Ranges that a rank may be ahead of another. */
#define AVERAGE_SAID 4096

/* How many ranges a rank has added; combined its part of; and is done with, so that the
 * others may write over what it has read. */
enum average_word { ADDED, COMBINED, DONE, AVERAGE_WORDS };

/* No other rank writes it. */
struct average_counter {
    _Alignas(64) _Atomic uint64_t ranges;
};

struct average_head {
    struct average_counter counters[AVERAGE_WORDS];
    _Alignas(64) _Atomic uint64_t steps; /* that this rank has finished */
    /* Of rank 0 alone: how many threads sleep, and what they sleep on. */
    _Alignas(64) _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t bell;
    _Alignas(64) uint64_t said[AVERAGE_SAID]; /* what the ranges are, by their number */
};

/* Zeros at first. Numbers begin behind it. */
#define AVERAGE_HEAD_BYTES sizeof(struct average_head)

#endif
