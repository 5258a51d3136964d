/*
 * sweep.h - several runs of one command line: --sweep KEY=A,B,C is --set KEY=A in the
 * first, --set KEY=B in the second, and so on. Of two sweeps each value of one goes with
 * each of the other.
 */
#ifndef RAYTRAIN_CONFIG_SWEEP_H
#define RAYTRAIN_CONFIG_SWEEP_H

#include "config/train_config.h"

#define SWEEP_RUNS_MAX 1000

/* How many runs the sweeps (NULL-terminated, "KEY=A,B,C") are. A comma in quotes or
 * brackets divides nothing. -1: RAYTRAIN_EUSAGE. */
int sweep_count(char *const *sweeps, struct error *err);
/* Set what run i has, the last sweep changing first. `text`, if it is not NULL, is what
 * that is, for a reader; to free(). */
int sweep_apply(char *const *sweeps, int i, struct train_config *cfg, char **text,
                struct error *err);

#endif
