/*
 * fork_guard.h - what a training function forks (a data loader) is no worker: signals
 * have their usual effect on it (own_signals.h). And it dies with its worker.
 *
 * Launchers see to that by the worker's process group; this is for when they are
 * killed, and all of their helpers with them. It covers the worker's own children, as
 * long as its main thread forks them: the kernel's promise is about the thread that
 * forks, and another one may end before its child is to.
 */
#ifndef RAYTRAIN_RANK_FORK_GUARD_H
#define RAYTRAIN_RANK_FORK_GUARD_H

#include "util/error.h"

/* From here on, for this process and not for its children's. */
int fork_guard_install(struct error *err);

#endif
