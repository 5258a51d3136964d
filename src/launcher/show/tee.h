/*
 * tee.h - a worker whose output is shown: what it prints goes into its logs, as without
 * this, and a copy of it to raytrain-run.
 *
 *     raytrain-keeper show RANKS WORKERS NODE LOG_DIR PROGRAM [ARG...]
 *
 * is started in place of the worker. Its standard error is the worker's log, and its
 * standard output is the channel, a way to raytrain-run. It becomes the worker. If its
 * rank is shown, it starts a process before that
 *
 *     raytrain-keeper tee RANK WORKER_PID
 *
 * which reads what the worker prints from two pipes. The worker never waits for the
 * channel: what that does not take is dropped, and counted. The process ends once the
 * worker has ended and all is read; other processes that have the pipes open do not
 * keep it.
 */
#ifndef RAYTRAIN_SHOW_TEE_H
#define RAYTRAIN_SHOW_TEE_H

#include "util/error.h"

/* The worker's command, with what goes before it: *argv is malloc'ed, strings too.
 * ranks: as in rank_choice.h. node: in names of logs; "": that of Slurm. */
int tee_command(const char *ranks, int workers, const char *node, const char *log_dir,
                char *const *worker, char ***argv, struct error *err);

/* ---- In raytrain-keeper ---- */

/* argv: from RANKS on. Returns only if it fails. */
int tee_become_worker(char *const *argv, struct error *err);

/* Which descriptors the process is started with, besides the usual three. */
enum tee_descriptor {
    TEE_OUT = 3, /* what the worker prints, to be read */
    TEE_ERR,
    TEE_OUT_LOG,
    TEE_ERR_LOG,
    TEE_CHANNEL,
    TEE_END
};

_Noreturn void tee_run(int rank, int worker);

#endif
