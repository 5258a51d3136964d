/*
 * environment.h - the environment of a command: the user's, without the variables by
 * which this worker joins its own group, and with those that give the command its
 * place.
 */
#ifndef RAYTRAIN_COMMAND_ENVIRONMENT_H
#define RAYTRAIN_COMMAND_ENVIRONMENT_H

#include "session/session.h"

/*
 * *env, an argv vector, is a copy of `base` in which
 *  - variables of PMI, PMIx and of the Slurm step are missing: with them, a library in
 *    the command would join the workers' own group;
 *  - RANK, WORLD_SIZE, LOCAL_RANK, ..., those of the backend and RAYTRAIN_SESSION
 *    (`socket`) are set. Rank 0 warns if the user has set one of these differently;
 *  - PYTHONPATH ends with the directory of the Python module `raytrain`;
 *  - all these are set for a container, too (container.h).
 */
int command_environment(const raytrain_context *ctx, char *const *base,
                        const char *socket, char ***env, struct error *err);

/* Is a variable of this name missing in the environment of the command? */
bool command_environment_hides(const char *name);

#endif
