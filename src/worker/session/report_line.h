/*
 * report_line.h - a report as a JSON object, as Ray's JSON logger writes it: the keys
 * of every report, and the metrics by name.
 */
#ifndef RAYTRAIN_SESSION_REPORT_LINE_H
#define RAYTRAIN_SESSION_REPORT_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "checkpoint/checkpoint.h"
#include "comm/comm.h"
#include "saving/saving.h"
#include "util/json_writer.h"

struct report_line {
    int64_t training_iteration;
    double time_total_s, time_this_iter_s, time_since_restore;
    double data_wait_s; /* -1: not known, or there were no data */
    /* REPORT_GPU_FIGURES, over all ranks and of rank 0; NULL: not known */
    const struct comm_stat *gpus;
    const double *rank0_gpus;
    int64_t timestamp;
    int64_t iterations_since_restore;
    const char *hostname;
    int attempt, world_size;
    const char *checkpoint;             /* file name; NULL: none */
    const struct saving_figures *saved; /* its figures; NULL: no longer known */
    const struct checkpoint_metric *values;
    size_t n_metrics;
    /* What rank 0 has reported, as JSON, and the values are rank 0's; NULL: they are
     * means. */
    const char *reported;
    /* What each rank has reported: the value of METRICS_WORKERS; NULL: it is not
     * known. */
    const char *workers;
    /* Rank 0's values and the extremes over all ranks; NULL if they are no longer
     * known. */
    const raytrain_metric *rank0;
    const struct comm_stat *stats;
    int stat_ranks;  /* the number of ranks in the sums of stats */
    bool if_missing; /* used only if its iteration has no other line (run/metrics.h) */
    const json_t *typed; /* integers, texts and vectors by name; NULL: none */
};

/* Would a metric of this name hide a key of the line itself? */
bool report_line_reserves(const char *name);
/* Replaces the contents of w. */
void report_line_write(const struct report_line *line, struct json_writer *w);

#endif
