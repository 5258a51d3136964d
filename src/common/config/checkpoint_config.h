/*
 * checkpoint_config.h - CheckpointConfig: when and how checkpoints are saved, and which
 * are kept.
 */
#ifndef RAYTRAIN_CONFIG_CHECKPOINT_CONFIG_H
#define RAYTRAIN_CONFIG_CHECKPOINT_CONFIG_H

#include <stdbool.h>

#include "util/error.h"

struct checkpoint_config {
    bool sync;                        /* default false, "async"; true: mode = "sync" */
    int num_to_keep;                  /* default 0: all */
    char *checkpoint_score_attribute; /* a metric; NULL: by recency */
    bool checkpoint_score_min;     /* checkpoint_score_order = "min"; default "max" */
    bool checkpoint_score_ordered; /* the order is set */
    /* When raytrain_should_checkpoint() returns true. If both are off: at every
     * report. */
    int checkpoint_frequency;  /* iterations; default 0: off */
    int checkpoint_interval_s; /* seconds; default 0: off */
    /* 1: also in the memory of this node and of another one; default 0. */
    int replicas;
    /* The most stripes on Lustre; 0: as the directory has; default 32. */
    int stripe_count;
    bool checkpoint_at_end; /* default false; a built-in loop always does */
};

struct config_table;
extern const struct config_table checkpoint_config_table;

void checkpoint_config_init(struct checkpoint_config *cfg);
/* builtin_loop: the trainer has its own loop, which saves a checkpoint at the end, and
 * one each minute if nothing else is set. Otherwise the training function decides about
 * the end, and checkpoint_at_end is refused. */
int checkpoint_config_validate(struct checkpoint_config *cfg, bool builtin_loop,
                               struct error *err);

#endif
