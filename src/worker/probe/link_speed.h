/* link_speed.h - messages between two ranks: how fast they are, and how far clocks differ. */
#ifndef RAYTRAIN_PROBE_LINK_SPEED_H
#define RAYTRAIN_PROBE_LINK_SPEED_H

#include <jansson.h>

#include "comm/comm.h"

struct link_speed {
    double latency_s; /* of a small message, one way */
    double bytes_s;   /* of large ones */
};

/* To be called by the two ranks; each gets the result. */
int link_speed_measure(struct comm *comm, int peer, struct link_speed *speed,
                       struct error *err);

/* To be called by rank 0 and `peer`: on both, how far the clock of `peer` is ahead, and
 * the largest error that this may have. */
int link_clock_compare(struct comm *comm, int peer, double *ahead_s, double *error_s,
                       struct error *err);

#endif
