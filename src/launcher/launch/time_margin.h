/*
 * time_margin.h - a time limit and the margin before its end at which the workers are
 * asked to stop: run_config.stop_before_end_s. In a job no longer than the margin, each
 * attempt would stop at its start.
 */
#ifndef RAYTRAIN_LAUNCH_TIME_MARGIN_H
#define RAYTRAIN_LAUNCH_TIME_MARGIN_H

#include <stdint.h>

#include "util/error.h"

/* RAYTRAIN_EINVAL if no time is left. job: "job 7"; length_s: 0 if there is no limit;
 * option: what gives the job more time. */
int time_margin_check(const char *job, int64_t length_s, int margin_s,
                      const char *option, struct error *err);

#endif
