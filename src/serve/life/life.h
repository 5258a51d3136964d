/*
 * life.h - the life of a service: its workers start; when one of each model is ready, it
 * answers; it changes to newer checkpoints; it is asked to end, answers what it has
 * accepted, and ends its workers.
 *
 * Models have nothing in common but the front. Once it answers, one whose workers cannot be
 * started again gets 503, and the others go on.
 */
#ifndef RAYTRAIN_LIFE_LIFE_H
#define RAYTRAIN_LIFE_LIFE_H

#include "life/life_options.h"
#include "util/error.h"

/* 0: it was asked to end, by SIGTERM, SIGINT or SIGUSR1, and has. -1: it could not begin,
 * or no worker is left. Before it has answered, that of one model is enough. */
int life_run(const struct life_options *options, struct error *err);

#endif
