/*
 * preprocessing.h - the preprocessors of a run: they learn from the training set at the
 * start of the first attempt, are kept in every checkpoint, and are restored on any
 * number of workers, with the same bits.
 */
#ifndef RAYTRAIN_SESSION_PREPROCESSING_H
#define RAYTRAIN_SESSION_PREPROCESSING_H

#include "checkpoint/checkpoint.h"
#include "preprocess/chain.h"
#include "session/session.h"

/*
 * COLLECTIVE, once the checkpoint to start from is known: set ctx->chain to fitted
 * preprocessors, or leave it empty. They come from this checkpoint, if it has them;
 * RAYTRAIN_EINVAL if the configuration has others (if it has none, those of the
 * checkpoint are used). Otherwise they learn from the training set. RAYTRAIN_ESTOPPED
 * if a stop is requested meanwhile.
 */
int preprocessing_start(raytrain_context *ctx, struct error *err);
/* Put them into ck. ctx->chain must stay until ck is saved. */
void preprocessing_save(const raytrain_context *ctx, raytrain_checkpoint *ck);

/*
 * COLLECTIVE: the fitted preprocessors of a checkpoint that was opened, for any
 * dataset: dataset_open() transforms its batches by dataset_env.chain,
 * transform_create() those of any other frame. The chain is empty (n is 0) if the
 * checkpoint has none. Release it with chain_clear(), also after a failure.
 */
int preprocessing_load(struct comm *comm, const raytrain_checkpoint *ck,
                       struct chain *chain, struct error *err);

#endif
