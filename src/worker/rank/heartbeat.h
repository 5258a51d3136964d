/*
 * heartbeat.h - shows that a node is alive: its worker of local rank 0 rewrites its
 * line of the heartbeats (protocol/heartbeats.h) at regular intervals, in a thread of
 * its own, since the training function may compute for minutes.
 *
 * The launcher creates the file if it watches its nodes, and compares what it reads
 * with what it read before: the clocks of two nodes are never compared.
 *
 * While the ranks report more often than that, it writes nothing: all of them take part
 * in a report, which shows the same.
 *
 * A worker whose node was cut off and given up no longer belongs to the run: it sees
 * the directory of the next attempt, and kills itself. It looks after each heartbeat,
 * and less often in a run on many nodes, which limits the load on storage.
 */
#ifndef RAYTRAIN_RANK_HEARTBEAT_H
#define RAYTRAIN_RANK_HEARTBEAT_H

#include "util/error.h"

struct heartbeat;

/* What to write, and where; borrowed during the call. */
struct heartbeat_spec {
    const char *run_dir, *log_dir;
    int attempt;
    const char *node;
    int place, n_nodes; /* of this node among all */
    double every_s;     /* between two lines */
};

/* *out is NULL if the launcher does not watch. Starts a thread with all signals
 * blocked. */
int heartbeat_start(const struct heartbeat_spec *spec, struct heartbeat **out,
                    struct error *err);
/* This rank has taken part in a report. May be called without a heartbeat. */
void heartbeat_reported(void);
/* After how many heartbeats a node looks for the next attempt. */
unsigned heartbeat_look_every(int n_nodes, double every_s);
void heartbeat_stop(struct heartbeat *hb); /* waits for the thread; NULL is fine */

#endif
