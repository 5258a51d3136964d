/*
 * start.h - do the workers of an attempt come together?
 *
 * To find each other they wait for each other, in PMIx and in MPI, where nobody tells
 * them of one that will not come, nor of a message that was lost on the way. So a group
 * that has not come together within start_timeout_s is asked for its stacks, which go
 * into the logs, ended, and started anew.
 *
 * That time begins when workers run on all nodes, which their logs show: before that
 * Slurm may run a prolog on some node, for minutes.
 */
#ifndef RAYTRAIN_WATCH_START_H
#define RAYTRAIN_WATCH_START_H

#include "watch/watch.h"

extern const struct watch_ops start_watch;

#endif
