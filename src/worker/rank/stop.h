/*
 * stop.h - requests to stop. The signals that ask for it set a flag and do nothing
 * else; the flag is combined over all ranks at the next report, and the training
 * function decides.
 *
 * WORKER_STOP_SIGNAL, from the launcher, is handled from the start. SIGTERM is handled
 * only while the training function runs: before that there is nothing to save, and
 * Slurm uses it to end what is left of a group that failed to form. The launcher never
 * sends it: it comes from what manages the node, which may soon kill the worker. The
 * launcher needs to know of it even if no further report is made, so the handler also
 * records it in the rank status file.
 *
 * A worker of the local launcher, its parent, dies with it, until it is asked to stop.
 * From then on it does not, which it records.
 */
#ifndef RAYTRAIN_RANK_STOP_H
#define RAYTRAIN_RANK_STOP_H

#include <stdbool.h>

#include "protocol/rank_status.h"
#include "util/error.h"

/* WORKER_STOP_SIGNAL. */
int stop_install(struct error *err);
/* Set where requests are recorded; the caller owns the place. */
void stop_set_place(struct rank_status_place *place);
/* SIGTERM; the place must be set. */
int stop_install_sigterm(struct error *err);
bool stop_requested(void);
/* Was it SIGTERM? Then what manages the node is about to take it away. */
bool stop_terminated(void);
/* A descriptor that is readable from a request until it is cleared, for a thread that
 * sleeps; -1 before stop_install(). */
int stop_descriptor(void);
void stop_clear_descriptor(void);
/* Does the launcher ask for a stop at a checkpoint, by the file LOG_DIR_RESIZE? */
bool stop_resize_requested(const char *log_dir);

#endif
