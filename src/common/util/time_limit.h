/*
 * time_limit.h - a time limit as Slurm's commands take it: MINUTES, MINUTES:SECONDS,
 * HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES, DAYS-HOURS:MINUTES:SECONDS or
 * UNLIMITED.
 */
#ifndef RAYTRAIN_UTIL_TIME_LIMIT_H
#define RAYTRAIN_UTIL_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* In seconds (Slurm rounds up to whole minutes). 0: there is no limit. False: the text
 * has none of these forms. */
bool time_limit_parse(const char *text, int64_t *seconds);

#endif
