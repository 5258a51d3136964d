/*
 * life.h - the life of a service: its workers start; when the first one is ready, it
 * answers; it changes to newer checkpoints; it is asked to end, answers what it has
 * accepted, and ends its workers.
 */
#ifndef RAYTRAIN_LIFE_LIFE_H
#define RAYTRAIN_LIFE_LIFE_H

#include "config/serve_config.h"
#include "util/error.h"

/* All of it outlives life_run(). */
struct life_options {
    const struct serve_config *config; /* completed, and validated */
    const char *model;                 /* its name */
    const char *run;                   /* or checkpoint, as the user has named it */
    const char *checkpoint;            /* the first one */
    const char *version;               /* of this software */
    char *const *argv;                 /* of a worker's launcher (crew/member.h) */
    int workers;
    int max_failures; /* restarts of each worker; -1: no limit */
    /* By a thread of its own, from time to time, if config->follow: the checkpoint that is
     * to be served, malloc'ed. */
    int (*choose)(void *arg, char **checkpoint, struct error *err);
    /* A sentence for the user; from any thread. */
    void (*say)(void *arg, const char *text);
    void *arg;
};

/* 0: it was asked to end, by SIGTERM, SIGINT or SIGUSR1, and has. -1: it could not begin,
 * or no worker is left. */
int life_run(const struct life_options *options, struct error *err);

#endif
