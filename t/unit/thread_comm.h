/*
 * thread_comm.h - a communicator of N threads of this process, for tests: the
 * collectives of several ranks without MPI.
 */
#ifndef RAYTRAIN_TEST_THREAD_COMM_H
#define RAYTRAIN_TEST_THREAD_COMM_H

#include "comm/comm.h"

#define THREAD_COMM_MAX 16

/* Call body(comm, arg) as each of n ranks at once; return when all have. Rank 0 is the
 * calling thread. cmocka's asserts may be used there alone: others return what they
 * found, rc[rank] (may be NULL). */
void thread_comm_run(int n, int (*body)(struct comm *comm, void *arg), void *arg,
                     int *rc);

#endif
