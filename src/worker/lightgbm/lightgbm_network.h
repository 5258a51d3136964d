/*
 * lightgbm_network.h - LightGBM's two collectives, over a communicator of raytrain.
 *
 * The library has a network for each thread, and so does this file: the same thread
 * starts the network, trains, and stops it.
 */
#ifndef RAYTRAIN_GBDT_LIGHTGBM_NETWORK_H
#define RAYTRAIN_GBDT_LIGHTGBM_NETWORK_H

#include "comm/comm.h"
#include "lightgbm/lightgbm_library.h"

/* Connects the library's datasets and boosters of this thread with those of the other
 * members of `comm`, which has at least two. */
int lightgbm_network_start(const struct lightgbm *l, struct comm *comm,
                           struct error *err);

/*
 * Called after each call of the library: -1, with the error, if a collective has failed
 * in it. The library cannot return such an error. It gets zeros instead, and its
 * collectives do nothing from then on, so its results are useless.
 */
int lightgbm_network_check(struct error *err);

/* Does nothing without a network. */
void lightgbm_network_stop(const struct lightgbm *l);

#endif
