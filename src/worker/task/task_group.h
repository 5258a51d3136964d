/*
 * task_group.h - the tasks of all ranks: they meet at the beginning and at the end of
 * each attempt, by fences of the step's PMIx, and give the workers of the attempt PMIx
 * servers, whose secret namespace is that of this attempt alone.
 *
 * All calls but open and close are collective, and wait for the tasks of all ranks.
 */
#ifndef RAYTRAIN_TASK_TASK_GROUP_H
#define RAYTRAIN_TASK_TASK_GROUP_H

#include <stdbool.h>

#include "wireup/rounds.h"

struct task_group;

/* expected_size: as for wireup_init(). */
int task_group_open(int expected_size, struct task_group **out, struct error *err);
/* PMIx_Finalize. NULL is fine. */
void task_group_close(struct task_group *g);
const struct world *task_group_world(const struct task_group *g);

/* Begin an attempt. *variables: what this rank's worker needs in its environment,
 * strings "NAME=VALUE" up to a NULL, malloc'ed. Fails on all ranks of a node whose PMIx
 * server cannot start; then, too, the attempt has begun. */
int task_group_begin(struct task_group *g, int attempt, char ***variables,
                     struct error *err);
/* Meanwhile: a descriptor to poll for reading, which says that the workers exchange
 * something with other nodes, and what to do then. -1: there is none. */
int task_group_fd(const struct task_group *g);
int task_group_take_part(struct task_group *g, struct error *err);
/* End it, after the worker of this rank has ended. *clean: those of all ranks have ended
 * cleanly. */
int task_group_end(struct task_group *g, enum rounds_end mine, bool *clean,
                   struct error *err);

#endif
