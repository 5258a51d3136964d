/*
 * keeper.h - what is left to clean up when raytrain-run itself is killed.
 *
 * The keeper is a small process that owns the private directory and knows the process
 * groups of the workers. Its one job begins when its socket comes to an end, because
 * the process that started it has died, however: it kills those groups, removes the
 * directory and leaves. Ctrl-C and polite signals do not reach it. In an ordinary end
 * its parent cleans up itself, and a killed keeper is no harm.
 */
#ifndef RAYTRAIN_LOCAL_KEEPER_H
#define RAYTRAIN_LOCAL_KEEPER_H

#include <sys/types.h>

#include "util/error.h"

struct keeper;

/* Start it, and have it make a new directory (0700) under $TMPDIR or /tmp: it exists
 * only if something will remove it. Returns before that is done. */
int keeper_start(struct keeper **out, struct error *err);
/* Never blocks. 1: the directory is there; 0: not yet, the socket will be readable; -1:
 * RAYTRAIN_ESTORAGE, or RAYTRAIN_ECOMM if the keeper has died. */
int keeper_greet(struct keeper *k, struct error *err);
const char *keeper_dir(const struct keeper *k); /* once it has greeted */

/* Give this to child_spec.announce: the leader of a group makes itself known. */
int keeper_socket(const struct keeper *k);
/* This group is gone: its number may soon mean another's. */
void keeper_forget(const struct keeper *k, pid_t group);

/* Remove the directory, end the keeper, free. The groups must be gone. NULL is fine. */
void keeper_stop(struct keeper *k);

#endif
