/*
 * process_comm.h - a communicator of N processes on "nodes", for tests of code that
 * threads cannot share, such as HDF5.
 */
#ifndef RAYTRAIN_TEST_PROCESS_COMM_H
#define RAYTRAIN_TEST_PROCESS_COMM_H

#include "comm/comm.h"

#define PROCESS_COMM_MAX 8

/* What a rank does; its exit status, 0 if all is well. */
typedef int (*process_body)(struct comm *all, struct comm *node, void *arg);

/* Run n ranks, per_node on each node in the order of their numbers; return when all have
 * ended. The number of those that failed; one that waits for a minute fails. */
int process_comm_run(int n, int per_node, process_body body, void *arg);

#endif
