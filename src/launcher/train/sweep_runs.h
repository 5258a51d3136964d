/*
 * sweep_runs.h - the runs of a sweep: the tasks of a job array, or one after the other
 * on this machine or in this allocation.
 */
#ifndef RAYTRAIN_TRAIN_SWEEP_RUNS_H
#define RAYTRAIN_TRAIN_SWEEP_RUNS_H

#include "config/options.h"

/* Should this process start a run for each value? Not in a task of a job array, which
 * is one of these runs, and not to submit the array. */
bool sweep_is_due(const struct options *opt);

/*
 * Start this command once for each run of the sweep, with --sweep-task, one after the
 * other. The others run even if one fails; one that is stopped, or rejected, ends the
 * sweep. Requests to stop are passed to the current run, and end the sweep. say:
 * reports progress, a line each. *status: the exit status of the sweep.
 */
int sweep_run(const struct options *opt, struct train_config *cfg, char *const argv[],
              void (*say)(const char *text), int *status, struct error *err);

/* Before the name is settled: in a run of the sweep, apply its settings; with --submit,
 * request an array of these runs. A name without %a or %j gets "-%a". */
int sweep_settle(struct options *opt, struct train_config *cfg, struct error *err);

#endif
