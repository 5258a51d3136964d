/*
 * time_limit.h - the allocation's own end: the workers are asked to stop so early that
 * they can save (run_config.stop_before_end_s), and ended before Slurm ends everything,
 * so that there is time left to write the Result.
 */
#ifndef RAYTRAIN_WATCH_TIME_LIMIT_H
#define RAYTRAIN_WATCH_TIME_LIMIT_H

#include "watch/watch.h"

extern const struct watch_ops time_watch;

#endif
