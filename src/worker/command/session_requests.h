/*
 * session_requests.h - what session_requests.c needs of the other families.
 */
#ifndef RAYTRAIN_COMMAND_SESSION_REQUESTS_H
#define RAYTRAIN_COMMAND_SESSION_REQUESTS_H

#include "command/companion.h"

/*
 * COLLECTIVE (checkpoint_make.c): a report for which at least one rank's client gives a
 * checkpoint, or a client of a helper that has one to save. offer: what this rank's
 * client has said about its own; NULL: it gives none. Asks the clients for the data and
 * makes *out of them. -1 on every rank.
 */
int companion_checkpoint_make(struct companion *c, const json_t *offer,
                              raytrain_checkpoint **out, struct error *err);

#endif
