/* life_options.h - what a service serves, and with which workers. */
#ifndef RAYTRAIN_LIFE_LIFE_OPTIONS_H
#define RAYTRAIN_LIFE_LIFE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/serve_config.h"
#include "util/error.h"

/* All of it outlives life_run(). */
struct life_model {
    const char *name;
    const char *checkpoint; /* the first one to serve */
    const char *config;     /* for its workers, as in crew.h; NULL: none */
    const struct serve_config
        *limits;      /* limits of its queue and batches, and whether it follows */
    int max_failures; /* restarts of each worker; -1: no limit */
    void *arg;        /* argument of choose() */
};

struct life_options {
    const struct serve_config *config; /* completed, and validated */
    const char *place;   /* the run, the checkpoint, or the directory of models */
    const char *version; /* version of this software */
    char *const *argv;   /* command line of a worker's launcher (crew/member.h) */
    int workers;         /* number for each model */
    /* this process is in a job of a batch system (event/stop_request.h) */
    bool in_job;
    const struct life_model *models;
    size_t n_models; /* at least 1 */
    /* Called in a thread for each model that follows, from time to time: returns the
     * checkpoint to serve, malloc'ed. */
    int (*choose)(void *arg, char **checkpoint, struct error *err);
    /* A sentence for the user; called in any thread. */
    void (*say)(void *arg, const char *text);
    void *arg;
};

#endif
