/* worker.h - one worker of the group that raytrain-run started. */
#ifndef RAYTRAIN_LIFE_WORKER_H
#define RAYTRAIN_LIFE_WORKER_H

#include "util/error.h"

struct loop_source;

/*
 * The whole life of a worker. Returns the exit status of the process (raytrain-run(1)),
 * with the reason in err if it is not 0 (and in the attempt's error.json, if no other
 * rank was first). If the exit handlers of the process cannot be trusted, it does not
 * return, but leaves by _exit(2) with that status, after a call of `last_words`, which
 * may be NULL.
 *
 * Exported from the library for raytrain-worker, which must share it with the training
 * function; not part of the public API.
 */
RAYTRAIN_API int raytrain_worker_run(const struct loop_source *source,
                                     void (*last_words)(int status,
                                                        const struct error *err),
                                     struct error *err);

#endif
