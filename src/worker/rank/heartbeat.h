/*
 * heartbeat.h - a node says that it is alive: the worker of local rank 0 writes a new
 * line into LOG_DIR/heartbeats/NODE every now and then, from a thread of its own, since
 * the training function may compute for minutes.
 *
 * The launcher makes the directory where it wants to hear of its nodes, and compares
 * what it reads with what it read before: no clock of one node is ever compared with
 * that of another.
 *
 * A worker that nobody waits for any more, since its node was cut off and given up,
 * sees the directory of the next attempt, and dies.
 */
#ifndef RAYTRAIN_RANK_HEARTBEAT_H
#define RAYTRAIN_RANK_HEARTBEAT_H

#include "util/error.h"

struct heartbeat;

/* What to say, where: all borrowed for the time of the call. */
struct heartbeat_spec {
    const char *run_dir, *log_dir;
    int attempt;
    const char *node;
    double every_s; /* between two lines */
};

/* *out is NULL where nobody listens. One thread more, with all signals blocked. */
int heartbeat_start(const struct heartbeat_spec *spec, struct heartbeat **out,
                    struct error *err);
void heartbeat_stop(struct heartbeat *hb); /* waits for the thread; NULL is fine */

#endif
