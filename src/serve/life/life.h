/*
 * life.h - the life of a service: its workers start; when one worker of each model is
 * ready, the service answers; it changes to newer checkpoints; when it is asked to end,
 * it answers what it has accepted, and ends its workers.
 *
 * Models have only the front in common. Once the service answers, a model whose workers
 * cannot be started again gets 503, and the others continue.
 */
#ifndef RAYTRAIN_LIFE_LIFE_H
#define RAYTRAIN_LIFE_LIFE_H

#include "life/life_options.h"
#include "util/error.h"

/* 0: it was asked to end, by SIGTERM, SIGINT or SIGUSR1, and has ended. -1: it could
 * not begin, or no worker is left; before the service has answered, no worker of one
 * model is enough. */
int life_run(const struct life_options *options, struct error *err);

#endif
