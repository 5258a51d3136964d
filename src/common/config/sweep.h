/*
 * sweep.h - several runs from one command line: --sweep KEY=A,B,C is --set KEY=A in the
 * first, --set KEY=B in the second, and so on. Two sweeps make all combinations of
 * their values.
 */
#ifndef RAYTRAIN_CONFIG_SWEEP_H
#define RAYTRAIN_CONFIG_SWEEP_H

#include "config/train_config.h"

#define SWEEP_RUNS_MAX 1000

/* The number of runs that the sweeps make (NULL-terminated, "KEY=A,B,C"). A comma in
 * quotes or brackets does not separate values. -1: RAYTRAIN_EUSAGE. */
int sweep_count(char *const *sweeps, struct error *err);
/* Set the values of run i; the last sweep changes first. `text`, if it is not NULL,
 * becomes a description of them for a reader; the caller frees it. */
int sweep_apply(char *const *sweeps, int i, struct train_config *cfg, char **text,
                struct error *err);

#endif
