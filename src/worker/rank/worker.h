/* worker.h - one worker of the group that raytrain-run started. */
#ifndef RAYTRAIN_RANK_WORKER_H
#define RAYTRAIN_RANK_WORKER_H

#include "util/error.h"

/* What this process is to run. */
struct worker_program {
    const char *path; /* a shared object with train_func in it; or NULL: */
    raytrain_train_func train_func; /* the function itself */
    int argc; /* arguments after the training function; argv ends with a NULL */
    char **argv;
};

/*
 * Live a worker's life. Returns the exit status of DESIGN §4, with the reason in err
 * where it is not 0 (and in the attempt's error.json, if no other rank was first). Does
 * not return, but leaves by _exit(2) with that status, where the exit handlers of the
 * process cannot be trusted; `last_words`, which may be NULL, is called before that.
 *
 * Exported from the library for raytrain-worker, which must share it with the training
 * function; no part of the public API.
 */
RAYTRAIN_API int raytrain_worker_run(const struct worker_program *program,
                                     void (*last_words)(int status,
                                                        const struct error *err),
                                     struct error *err);

#endif
