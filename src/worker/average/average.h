/*
 * average.h - means of gradients, computed by the processes of one node themselves, in
 * memory that all of them have mapped: a client's process does not wait for its
 * companion.
 *
 * A Python process loads it (by ctypes) as raytrain-average.so. It depends on libc
 * only, does not print, and returns errors as numbers.
 *
 * Each process has a block in one file: a head, and room for numbers. In a step each
 * adds its ranges, in the same order on every rank: the numbers are copied to its
 * block, and the others see that they are there. average_finish() then writes the means
 * of all ranks over the numbers. They are summed in the order of the ranks, so that
 * every rank gets the same bits. The algorithm is that of mpi/shared_allreduce.c, but
 * the caller's thread works and waits, and the means are written to where the numbers
 * were.
 *
 * A thread that waits spins at first if each rank has a core, and then sleeps in the
 * kernel until a rank writes a counter.
 *
 * All functions are for one thread at a time.
 */
#ifndef RAYTRAIN_AVERAGE_AVERAGE_H
#define RAYTRAIN_AVERAGE_AVERAGE_H

#include <stddef.h>

#define AVERAGE_PUBLIC __attribute__((visibility("default")))

enum average_result {
    AVERAGE_DONE,
    AVERAGE_WAITS, /* the time has passed: call again */
    /* Another rank has added another range: it cannot be used any more. */
    AVERAGE_DIFFERS,
    AVERAGE_MEMORY, /* no memory for another range */
};

/* Where the blocks are in the file. */
struct average_place {
    size_t
        first; /* byte of the file where the head of rank 0 begins; a multiple of 64 */
    size_t stride; /* bytes from one rank's head to the next one's */
    size_t room;   /* bytes of a rank's numbers */
    int rank, size;
};

struct average;

/* Map the file; `spins`: each rank has a core of its own. NULL with errno if it cannot
 * be mapped. The caller owns the descriptor. */
AVERAGE_PUBLIC struct average *average_open(int fd, const struct average_place *place,
                                            int spins);
/* Accepts NULL. Other ranks may still read this rank's block, which stays in the
 * file. */
AVERAGE_PUBLIC void average_close(struct average *a);

/*
 * Add n numbers at `data` (float; or double, if wide), which go to byte `at` of this
 * rank's numbers, a multiple of 64. Ranges of one step do not overlap. The caller owns
 * `data`, which is read and written until average_finish() has returned AVERAGE_DONE;
 * then it has the means. AVERAGE_WAITS: nothing was added, since others still read that
 * place for the step before.
 */
AVERAGE_PUBLIC int average_add(struct average *a, void *data, size_t at, size_t n,
                               int wide, int ms);
/* The step has no further ranges: wait for all means, for at most ms milliseconds. */
AVERAGE_PUBLIC int average_finish(struct average *a, int ms);

#endif
