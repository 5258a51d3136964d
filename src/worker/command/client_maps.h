/*
 * client_maps.h - a chain with a function in Python: this process applies the
 * preprocessors before it, and the client the rest. A client that can do this says
 * "maps": true in the request that opens the rows; "maps" in the reply is the number of
 * the first preprocessor that it applies itself. It gets the chain by
 * preprocess_stages.
 */
#ifndef RAYTRAIN_COMMAND_CLIENT_MAPS_H
#define RAYTRAIN_COMMAND_CLIENT_MAPS_H

#include "command/companion.h"

/* RAYTRAIN_ENOTSUP if the client would have to apply something, and cannot. */
int client_maps_reply(const raytrain_dataset *ds, const struct request *q,
                      struct reply *reply, struct error *err);

#endif
