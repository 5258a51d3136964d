/*
 * lightgbm_network.h - LightGBM's two collectives, over a communicator of raytrain.
 *
 * The library keeps its network for each thread, and so does this file: the thread that
 * starts it is the one that trains and stops it.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_NETWORK_H
#define RAYTRAIN_GBDT_LIGHTGBM_NETWORK_H

#include "comm/comm.h"
#include "lightgbm/lightgbm_library.h"

/* From here on, the library's datasets and boosters of this thread work together with
 * those of the other members of `comm`, which has at least two. */
int lightgbm_network_start(const struct lightgbm *l, struct comm *comm,
                           struct error *err);

/*
 * After a call of the library: -1 if a collective in it has failed, with that error.
 * The error cannot pass through the library; it gets zeros instead, and its collectives
 * do nothing from then on, so its results are of no use.
 */
int lightgbm_network_check(struct error *err);

/* Fine without a network. */
void lightgbm_network_stop(const struct lightgbm *l);

#endif
