/*
 * session_requests.h - what session_requests.c needs of other files, and they of it.
 */
#ifndef RAYTRAIN_COMMAND_SESSION_REQUESTS_H
#define RAYTRAIN_COMMAND_SESSION_REQUESTS_H

#include "command/companion.h"

/*
 * COLLECTIVE (checkpoint_make.c): a report for which at least one rank's client gives a
 * checkpoint, or a client of a helper that has one to save. offer: what this rank's
 * client has said about its own; NULL: it gives none. position: of this client's data
 * loaders; NULL: none. Asks the clients for the data and makes *out of them. -1 on every
 * rank.
 */
int companion_checkpoint_make(struct companion *c, const json_t *offer,
                              const char *position, raytrain_checkpoint **out,
                              struct error *err);

/* What hello replies about the worker, and does not change: its place, the names and
 * the configuration of the run. A new reference; NULL without memory. */
json_t *session_facts(const raytrain_context *ctx);

#endif
