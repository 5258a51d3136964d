/*
 * shuffle.h - an epoch's order of the rows as a keyed permutation: no memory, row i of
 * the order in constant expected time, the same on every machine.
 *
 * A Feistel network (Luby and Rackoff, SIAM J. Comput. 1988) over the smallest power of
 * two that holds n, made a permutation of 0..n-1 by cycle walking (Black and Rogaway,
 * "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). Its round function is the
 * finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Not cryptographic.
 *
 * The order is part of what a checkpoint means: it never changes between versions.
 */
#ifndef RAYTRAIN_DATA_SHUFFLE_H
#define RAYTRAIN_DATA_SHUFFLE_H

#include <stdbool.h>
#include <stdint.h>

#define SHUFFLE_ROUNDS 8

struct shuffle {
    uint64_t n;
    bool identity;
    unsigned low_bits;            /* of an index, which has low_bits + high bits */
    uint64_t low_mask, high_mask; /* of the two halves, both from bit 0 on */
    uint64_t keys[SHUFFLE_ROUNDS];
};

/* The order of n rows in this epoch. Distinct seeds and epochs give unrelated orders.
 */
void shuffle_init(struct shuffle *s, uint64_t n, uint64_t seed, uint64_t epoch);
/* The order of a dataset that is not shuffled. */
void shuffle_init_identity(struct shuffle *s, uint64_t n);

/* The row that comes i-th, i < n. */
uint64_t shuffle_row(const struct shuffle *s, uint64_t i);

#endif
