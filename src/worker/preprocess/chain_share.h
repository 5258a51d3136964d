/* chain_share.h - a fitted chain of one rank becomes that of all, with the same
 * bits. */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_SHARE_H
#define RAYTRAIN_PREPROCESS_CHAIN_SHARE_H

#include "preprocess/chain.h"

/*
 * COLLECTIVE. Rank 0 passes its chain, which is fitted, and the outcome of making it;
 * the others pass a zeroed one, and get rank 0's. All return the same. Release it with
 * chain_clear(), also after a failure. In the thread that calls HDF5.
 */
int chain_share(struct chain *chain, int rc, struct comm *comm, struct error *err);

#endif
