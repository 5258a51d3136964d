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
    const char *checkpoint; /* the first one */
    const char *config;     /* for its workers, as in crew.h; NULL: none */
    const struct serve_config
        *limits;      /* its queue, its batches, and whether it follows */
    int max_failures; /* restarts of each worker; -1: no limit */
    void *arg;        /* for choose() */
};

struct life_options {
    const struct serve_config *config; /* completed, and validated */
    const char *place;   /* the run, the checkpoint, or the directory of models */
    const char *version; /* of this software */
    char *const *argv;   /* of a worker's launcher (crew/member.h) */
    int workers;         /* of each model */
    bool in_job;         /* of a batch system (event/stop_request.h) */
    const struct life_model *models;
    size_t n_models; /* at least 1 */
    /* By a thread of its own, from time to time, for each model that follows: the
     * checkpoint that is to be served, malloc'ed. */
    int (*choose)(void *arg, char **checkpoint, struct error *err);
    /* A sentence for the user; from any thread. */
    void (*say)(void *arg, const char *text);
    void *arg;
};

#endif
