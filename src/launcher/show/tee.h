/*
 * tee.h - a worker whose output is shown: its output goes into its logs as usual, and a
 * copy to raytrain-run.
 *
 *     raytrain-keeper show RANKS WORKERS NODE LOG_DIR PROGRAM [ARG...]
 *
 * is started in place of the worker, and becomes the worker. LOG_DIR "": that of the
 * attempt in its environment (protocol/worker_env.h). Its standard error is the
 * worker's log, and its standard output the channel to raytrain-run. If its rank is
 * shown, it first starts the process
 *
 *     raytrain-keeper tee RANK WORKER_PID
 *
 * which reads what the worker prints from two pipes. The worker never waits for the
 * channel: lines that do not fit are dropped and counted. The process ends when the
 * worker has ended and all is read, even if other processes still have the pipes open.
 */
#ifndef RAYTRAIN_SHOW_TEE_H
#define RAYTRAIN_SHOW_TEE_H

#include "util/error.h"

/* The worker's command, prefixed with raytrain-keeper and its arguments; *argv and its
 * strings are malloc'ed. ranks: as in rank_choice.h. node: for the names of logs; "":
 * as Slurm names it. */
int tee_command(const char *ranks, int workers, const char *node, const char *log_dir,
                char *const *worker, char ***argv, struct error *err);

/* ---- In raytrain-keeper ---- */

/* argv: from RANKS on. Returns only if it fails. */
int tee_become_worker(char *const *argv, struct error *err);

/* The descriptors with which the process is started, besides the usual three. */
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
