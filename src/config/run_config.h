/* run_config.h - RunConfig and what it holds: where a run lives, when it stops. */
#ifndef RAYTRAIN_CONFIG_RUN_CONFIG_H
#define RAYTRAIN_CONFIG_RUN_CONFIG_H

#include <stddef.h>

#include "config/checkpoint_config.h"
#include "config/failure_config.h"
#include "config/sync_config.h"

/* One criterion of run_config.stop: met when the reported (mean) metric is >= value. */
struct stop_criterion {
    char *metric;
    double value;
};

struct run_config {
    char *name;         /* one path component; default: the training function's base name */
    char *storage_path; /* default "raytrain_results"; made absolute by validation */
    struct stop_criterion *stop;
    size_t n_stop;
    struct failure_config failure_config;
    struct checkpoint_config checkpoint_config;
    struct sync_config sync_config;
    char **callbacks; /* names; default { "json" } */
    size_t n_callbacks;
};

#endif
