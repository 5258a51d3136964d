/* run_summary.h - short descriptions of runs, for lists of many runs. */
#ifndef RAYTRAIN_INSPECT_RUN_SUMMARY_H
#define RAYTRAIN_INSPECT_RUN_SUMMARY_H

#include <jansson.h>
#include <stdbool.h>

/*
 * A new object; only the ends of files are read, and what cannot be read is left out:
 *
 *   path, status     absolute; as for inspect_run(); running: a process holds it
 *   attempts, workers, iteration, time_total_s
 *                    of the last report; iteration is null if there is none
 *   updated          Unix time of the last report, or when the run began
 *   checkpoints, checkpoint_bytes, checkpoint_iteration
 *                    their number, their size with that of directories that were made
 *                    of them (run/extracted.h), and the iteration of the newest one
 *   score, score_min the metric by which checkpoints are kept; null: none
 *   metrics          means of the last report, the score first
 *
 * NULL without memory.
 */
json_t *run_summary(const char *run, bool running);

/* The union of the names of metrics of several runs, an array; the scores are first.
 * Each run has an object "metrics". NULL without memory. */
json_t *run_summary_metrics(const json_t *runs);

/*
 * Append what the metrics in reports are, a member for each change, in the order of the
 * reports: [{"iteration": 1, "of": "mean"}, {"iteration": 4, "of": "rank0"}]. Reports
 * of one worker are left out: the two are the same there.
 */
void run_summary_kinds_add(json_t *kinds, int64_t iteration, int64_t workers,
                           bool of_rank0);
/* "means, rank 0's from 4 on", or "-". To free(). */
char *run_summary_kinds_text(const json_t *kinds);

/* Do all runs keep checkpoints by this metric, in the same direction? 1: the lowest is
 * best, 2: the highest; 0: no. */
int run_summary_order(const json_t *runs, const char *metric);

#endif
