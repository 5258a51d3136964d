/* chain_pack.h - a fitted chain as the bytes of an HDF5 file (chain_file.h). Only the
 * training thread may call these: they use HDF5. */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_PACK_H
#define RAYTRAIN_PREPROCESS_CHAIN_PACK_H

#include "preprocess/chain.h"

/* *bytes is malloc'ed. RAYTRAIN_EINVAL if the chain is not fitted. */
int chain_pack(const struct chain *chain, void **bytes, size_t *n, struct error *err);
/* Makes a chain with the same bits. Release it with chain_clear(), also after a
 * failure. RAYTRAIN_ECORRUPT if the bytes are not those of a chain. */
int chain_unpack(struct chain *chain, const void *bytes, size_t n, struct error *err);

#endif
