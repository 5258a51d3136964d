/*
 * data_decisions.h - what the data of a run mean where their files do not define it:
 * whether LIBSVM text numbers features from 0 or from 1 on, which texts mean a missing
 * value, and which columns have words, even if all of them look like numbers in another
 * file. It is decided once, over all datasets of the run, kept in its checkpoints, and
 * used when the run continues and by predictions. What the configuration sets for a
 * dataset has precedence.
 */
#ifndef RAYTRAIN_SESSION_DATA_DECISIONS_H
#define RAYTRAIN_SESSION_DATA_DECISIONS_H

#include "session/session.h"

void data_decisions_clear(struct data_decisions *d);

/* Call it once the checkpoint to start from is known. */
int data_decisions_start(raytrain_context *ctx, struct error *err);

/* Load the decisions of a checkpoint; *has: it has some. On this rank only. */
int data_decisions_load(struct data_decisions *d, raytrain_checkpoint *ck, bool *has,
                        struct error *err);
int data_decisions_save(const struct data_decisions *d, raytrain_checkpoint *ck,
                        struct error *err);

/* COLLECTIVE: *obeying is cfg with the decisions, which may be made here; it borrows
 * from both. */
int data_decisions_obey(raytrain_context *ctx, const struct dataset_config *cfg,
                        struct dataset_config *obeying, struct error *err);

/* A dataset of this run has been opened: if it is the training set, its columns
 * decide. */
int data_decisions_learn(raytrain_context *ctx, const struct dataset_config *cfg,
                         const raytrain_dataset *ds, struct error *err);

#endif
