/*
 * environment.h - the environment of a command: the user's, without what makes this
 * worker a member of its own group, and with what tells the command its place.
 */
#ifndef RAYTRAIN_COMMAND_ENVIRONMENT_H
#define RAYTRAIN_COMMAND_ENVIRONMENT_H

#include "session/session.h"

/*
 * *env, an argv vector, is a copy of `base` in which
 *  - variables of PMI, PMIx and of the Slurm step are missing: a library in the command
 *    would take this worker's rank in its own group for its own;
 *  - RANK, WORLD_SIZE, LOCAL_RANK, ..., those of the backend and RAYTRAIN_SESSION
 *    (`socket`) are set. If the user has given one of these another value, rank 0
 *    warns;
 *  - PYTHONPATH ends with the directory of the Python module `raytrain`;
 *  - what was set is set for a container, too (container.h).
 */
int command_environment(const raytrain_context *ctx, char *const *base,
                        const char *socket, char ***env, struct error *err);

/* Does a variable of this name not reach the command? */
bool command_environment_hides(const char *name);

#endif
