/*
 * gpu_watch.h - watches the GPUs of this worker while it trains, through the driver's
 * library (site/nvml.h) and in a thread of its own, so that a driver that does not
 * answer does not delay training. It
 *
 *   - warns at the start if a GPU is filled by processes that are not of this run,
 *   - samples how full and how busy the GPUs are, once a second, for the reports,
 *   - tells the launcher of errors of a GPU, as soon as the driver reports them.
 *
 * Without NVIDIA's driver it does nothing. No failure here ends the training.
 */
#ifndef RAYTRAIN_RANK_GPU_WATCH_H
#define RAYTRAIN_RANK_GPU_WATCH_H

#include <stdbool.h>

#include "util/error.h"

struct gpu_watch;

/* Borrowed during the call. */
struct gpu_watch_spec {
    const char *log_dir; /* for events */
    const char *node;    /* as the launcher knows it */
    const char *run_dir; /* processes with this RAYTRAIN_RUN_DIR are of the run */
    const char *visible; /* names of GPUs, as in CUDA_VISIBLE_DEVICES; NULL: all */
};

/* Starts a thread with all signals blocked; there is one watch in a process. NULL if it
 * cannot be started. */
struct gpu_watch *gpu_watch_start(const struct gpu_watch_spec *spec);
/* This worker has failed: wait a moment, so that an error that the driver reports
 * reaches the launcher. */
void gpu_watch_settle(struct gpu_watch *w);
/* Ends the thread, unless it is in a driver call that does not return. Accepts NULL. */
void gpu_watch_stop(struct gpu_watch *w);

/* The last sample. */
struct gpu_sample {
    double utilization;  /* percent, the mean of this worker's GPUs; -1: not known */
    double memory_used;  /* bytes, of all of them together */
    double memory_total; /* likewise */
};
/* False if there is none, or if it is too old. */
bool gpu_watch_sample(struct gpu_sample *sample);

#endif
