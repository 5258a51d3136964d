/*
 * helper.h - a process without a run that reads checkpoints and datasets for another
 * one, which cannot read HDF5: a notebook, or the caller of fit().
 */
#ifndef RAYTRAIN_COMMAND_HELPER_H
#define RAYTRAIN_COMMAND_HELPER_H

#include <raytrain.h>

#include "util/error.h"

/* Serve the client on this connected socket, which is consumed, until the client closes
 * it. Returns the exit status; if it is not 0, the helper could not start, and err says
 * why. */
RAYTRAIN_API int raytrain_helper_run(int socket, struct error *err);

#endif
