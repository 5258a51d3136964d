/*
 * time_limit.h - a time limit as Slurm's commands take it: MINUTES, MINUTES:SECONDS,
 * HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES, DAYS-HOURS:MINUTES:SECONDS or
 * UNLIMITED.
 */
#ifndef RAYTRAIN_UTIL_TIME_LIMIT_H
#define RAYTRAIN_UTIL_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* In seconds, of which Slurm makes whole minutes, rounded up; 0: there is no limit.
 * False: it is none of these. */
bool time_limit_parse(const char *text, int64_t *seconds);

#endif
