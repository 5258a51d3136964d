/* chain_share.h - sends a fitted chain of rank 0 to all ranks, with the same bits. */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_SHARE_H
#define RAYTRAIN_PREPROCESS_CHAIN_SHARE_H

#include "preprocess/chain.h"

/*
 * COLLECTIVE, with the same outcome on every rank. Rank 0 passes its chain, which is
 * fitted, and in `rc` the outcome of making it. The others pass a zeroed chain, and get
 * that of rank 0. Release it with chain_clear(), also after a failure. Only the
 * training thread may call this: it uses HDF5.
 */
int chain_share(struct chain *chain, int rc, struct comm *comm, struct error *err);

#endif
