/* worker.h - one worker of the group that raytrain-run started. */
#ifndef RAYTRAIN_LIFE_WORKER_H
#define RAYTRAIN_LIFE_WORKER_H

#include "util/error.h"

struct loop_source;

/*
 * Run a worker from start to end. Returns the exit status of the process
 * (raytrain-run(1)); if it is not 0, the reason is in err, and in the attempt's
 * error.json if no other rank has failed first. If the exit handlers of the process
 * cannot be trusted, it does not return, but calls `last_words` unless it is NULL, and
 * _exit(2) with that status.
 *
 * Exported from the library for raytrain-worker, which must share it with the training
 * function; not part of the public API.
 */
RAYTRAIN_API int raytrain_worker_run(const struct loop_source *source,
                                     void (*last_words)(int status,
                                                        const struct error *err),
                                     struct error *err);

#endif
