/*
 * resize.h - an elastic group that is smaller than it could be is asked to stop
 * at its next checkpoint, so that a larger one takes over: nodes have come back.
 */
#ifndef RAYTRAIN_TRAIN_RESIZE_WATCH_H
#define RAYTRAIN_TRAIN_RESIZE_WATCH_H

#include "watch/watch.h"

extern const struct watch_ops resize_watch;

#endif
