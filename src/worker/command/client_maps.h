/*
 * client_maps.h - a chain with a function in Python: this process applies what comes before
 * it, and the client the rest. A client that knows this says so, by "maps": true in the
 * request that opens the rows; the reply has in "maps" the place in the chain from which on
 * its batches are left to the client. It gets the chain by preprocess_stages.
 */
#ifndef RAYTRAIN_COMMAND_CLIENT_MAPS_H
#define RAYTRAIN_COMMAND_CLIENT_MAPS_H

#include "command/companion.h"

/* RAYTRAIN_ENOTSUP if the client does not know of it, and there is something to do. */
int client_maps_reply(const raytrain_dataset *ds, const struct request *q,
                      struct reply *reply, struct error *err);

#endif
