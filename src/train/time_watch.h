/*
 * time_watch.h - the allocation's own end: the workers are asked to stop so early that
 * they can save (run_config.stop_before_end_s), and ended before Slurm ends everything,
 * so that there is time left to write the Result.
 */
#ifndef RAYTRAIN_TRAIN_TIME_WATCH_H
#define RAYTRAIN_TRAIN_TIME_WATCH_H

#include "train/watch.h"

extern const struct watch_ops time_watch;

#endif
