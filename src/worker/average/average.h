/*
 * average.h - means of gradients, computed by the processes of one node themselves, in
 * memory that all of them have mapped: a client's process does not wait for its companion.
 *
 * What a process of Python loads (by ctypes) as raytrain-average.so. It needs nothing but
 * libc, prints nothing, and returns what went wrong as a number.
 *
 * Each process has a block in one file: a head, and room for numbers. In a step each adds
 * its ranges, in the same order on every rank: the numbers are copied to its block, and the
 * others see that they are there. average_finish() then writes the means of all ranks over
 * the numbers. They are summed in the order of the ranks, so that every rank gets the same
 * bits. The ranks take the same way as in mpi/shared_allreduce.c, but it is the caller's
 * thread that works and waits, and the means are written to where the numbers were.
 *
 * A thread that waits spins at first if each rank has a core, and then sleeps in the kernel
 * until a rank says something.
 *
 * All functions are for one thread at a time.
 */
#ifndef RAYTRAIN_AVERAGE_AVERAGE_H
#define RAYTRAIN_AVERAGE_AVERAGE_H

#include <stddef.h>

#define AVERAGE_PUBLIC __attribute__((visibility("default")))

enum average_result {
    AVERAGE_DONE,
    AVERAGE_WAITS, /* the time was over: call again */
    AVERAGE_DIFFERS, /* another rank has added something else; it is of no use from here on */
    AVERAGE_MEMORY, /* there is no memory for another range */
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

/* Map the file; `spins`: each rank has a core of its own. NULL, with errno: it cannot be
 * mapped. The descriptor remains the caller's. */
AVERAGE_PUBLIC struct average *average_open(int fd, const struct average_place *place,
                                            int spins);
/* NULL is fine. Others may still be reading this rank's block: it lives on in the file. */
AVERAGE_PUBLIC void average_close(struct average *a);

/*
 * Add n numbers at `data` (float; or double, if wide), which go to byte `at` of this rank's
 * numbers, a multiple of 64. Ranges of one step do not overlap. `data` has the means when
 * average_finish() has returned AVERAGE_DONE, and stays the caller's; it is read and written
 * in between. If AVERAGE_WAITS, nothing was added: others still read what is there from the
 * step before.
 */
AVERAGE_PUBLIC int average_add(struct average *a, void *data, size_t at, size_t n,
                               int wide, int ms);
/* The step has no further ranges: wait for the means of all, at most ms milliseconds. */
AVERAGE_PUBLIC int average_finish(struct average *a, int ms);

#endif
