/*
 * checkpoint_make.h - one checkpoint from what the clients of all ranks offer.
 */
#ifndef RAYTRAIN_COMMAND_CHECKPOINT_MAKE_H
#define RAYTRAIN_COMMAND_CHECKPOINT_MAKE_H

#include "command/companion.h"

/*
 * COLLECTIVE: for a report to which the client of at least one rank gives a checkpoint;
 * and for a helper, whose client saves one. offer: what this rank's client has sent
 * about its own (checkpoint_offer.h); NULL: it gives none. position: the text of its
 * data loaders; NULL: none. Asks the client for the data and makes *out of them. If it
 * fails on one rank, it returns -1 on all.
 */
int companion_checkpoint_make(struct companion *c, const json_t *offer,
                              const char *position, raytrain_checkpoint **out,
                              struct error *err);

#endif
