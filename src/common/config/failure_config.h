/* failure_config.h - FailureConfig: what to do when a worker fails. */
#ifndef RAYTRAIN_CONFIG_FAILURE_CONFIG_H
#define RAYTRAIN_CONFIG_FAILURE_CONFIG_H

#include <stdbool.h>

struct failure_config {
    int max_failures; /* restarts after worker failures; default 0, -1: no limit */
    /* Default true: only restarts since the last new checkpoint count. */
    bool reset_on_progress;
    int max_preemptions; /* restarts after preemptions; default -1: no limit */
    /* Default false; true: never restart, regardless of max_failures. */
    bool fail_fast;
    int hang_timeout_s;  /* default 0: off */
    int start_timeout_s; /* default 60; 0: no limit for the workers to start */
    int node_timeout_s;  /* default 30; 0: nodes are not watched */
    /* Default false. Under Slurm, the next attempt starts in the step of the last one
     * if all nodes of that are alive. */
    bool same_step;
};

struct config_table;
extern const struct config_table failure_config_table;

void failure_config_init(struct failure_config *cfg);
/* Seconds between heartbeats of a node. Three in a row may be lost. */
double failure_config_heartbeat_s(const struct failure_config *cfg);

#endif
