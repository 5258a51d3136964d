/*
 * keeper.h - a process that cleans up when raytrain-run itself is killed.
 *
 * The keeper owns the private directory and knows the process groups of the workers. It
 * acts when its socket is closed because the process that started it has died: then it
 * kills those groups and all processes with its mark, removes the directory and exits.
 * With an order it first waits for workers that were asked to stop (launch/finish.h).
 * It ignores Ctrl-C and the other catchable signals that ask a process to end. Normally
 * its parent cleans up itself, and then kills the keeper.
 */
#ifndef RAYTRAIN_LOCAL_KEEPER_H
#define RAYTRAIN_LOCAL_KEEPER_H

#include <sys/types.h>

#include "launch/finish.h"
#include "util/error.h"

struct keeper;

/* Start it. It makes a new directory (0700) under $TMPDIR or /tmp, so that every
 * directory has a process that removes it. Returns before the directory exists. */
int keeper_start(struct keeper **out, struct error *err);
/* Never blocks. 1: the directory exists; 0: not yet, the socket will be readable; -1:
 * RAYTRAIN_ESTORAGE, or RAYTRAIN_ECOMM if the keeper has died. */
int keeper_ready(struct keeper *k, struct error *err);
const char *keeper_dir(const struct keeper *k); /* once it is ready */
/* Once it is ready: an entry for the environment of the workers. */
const char *keeper_mark(const struct keeper *k);

/* For child_spec.announce, by which the leader of a group reports itself. */
int keeper_socket(const struct keeper *k);
/* This group is gone: its id may soon be reused. */
void keeper_forget(const struct keeper *k, pid_t group);

/* The workers have been asked to stop. */
void keeper_order(const struct keeper *k, const struct finish_terms *terms);

/* Remove the directory, kill the keeper, free. The groups must be gone. NULL is
 * fine. */
void keeper_stop(struct keeper *k);

#endif
