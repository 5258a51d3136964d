/*
 * grace.h - a stop that takes too long: run_config.grace_s bounds how long the
 * workers are waited for.
 */
#ifndef RAYTRAIN_TRAIN_GRACE_WATCH_H
#define RAYTRAIN_TRAIN_GRACE_WATCH_H

#include "watch/watch.h"

extern const struct watch_ops grace_watch;

#endif
