/*
 * row_order.h - which rows a rank gets next: the order of the rows in an epoch, and
 * this rank's part of it. These functions only compute.
 *
 * The order is a keyed permutation: it takes no memory, gives the i-th row in constant
 * expected time, and is the same on every machine. A Feistel network (Luby and Rackoff,
 * SIAM J. Comput. 1988) over the smallest power of two that holds n, made a permutation
 * of 0..n-1 by cycle walking (Black and Rogaway, "Ciphers with Arbitrary Finite
 * Domains", CT-RSA 2002). Its round function is the finalizer of SplitMix64 (Steele,
 * Lea and Flood, OOPSLA 2014). Not cryptographic.
 *
 * The position in a dataset is the number of rows of the epoch that all ranks together
 * have received. Order and position are part of what a checkpoint means: they never
 * change between versions.
 */
#ifndef RAYTRAIN_TABLE_ROW_ORDER_H
#define RAYTRAIN_TABLE_ROW_ORDER_H

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

struct portion {
    uint64_t first, count; /* this rank's part of the epoch's order */
    uint64_t end;          /* the position after the batch of all ranks */
};

/*
 * The batch at `position` of an epoch of `rows` rows for `rank` of `size`, with `batch`
 * rows a rank. While there are enough rows for all, rank r takes the r-th `batch` rows;
 * the rest at the end is split evenly, and the lower ranks take one more. All ranks get
 * the same end.
 */
struct portion position_portion(uint64_t rows, uint64_t position, uint64_t batch,
                                int rank, int size);

#endif
