/* link_speed.h - messages between two ranks: how fast they are, and how far clocks
 * differ. */
#ifndef RAYTRAIN_PROBE_LINK_SPEED_H
#define RAYTRAIN_PROBE_LINK_SPEED_H

#include <jansson.h>

#include "comm/comm.h"

struct link_speed {
    double latency_s; /* for a small message, in one direction */
    double bytes_s;   /* bytes per second, with large messages */
};

/* Called by both ranks, which both get the result. */
int link_speed_measure(struct comm *comm, int peer, struct link_speed *speed,
                       struct error *err);

/* Called by rank 0 and `peer`; both get how far the clock of `peer` is ahead, and the
 * largest error of that value. */
int link_clock_compare(struct comm *comm, int peer, double *ahead_s, double *error_s,
                       struct error *err);

#endif
