/* checkpoint_config.h - CheckpointConfig: which checkpoints are kept. */
#ifndef RAYTRAIN_CONFIG_CHECKPOINT_CONFIG_H
#define RAYTRAIN_CONFIG_CHECKPOINT_CONFIG_H

#include <stdbool.h>

struct checkpoint_config {
    int num_to_keep;                  /* default 0: all */
    char *checkpoint_score_attribute; /* a metric; NULL: by recency */
    bool checkpoint_score_min;        /* checkpoint_score_order = "min"; default "max" */
    int checkpoint_frequency;         /* default 0: when the training function says so */
    bool checkpoint_at_end;           /* default true for trainers with a built-in loop */
};

#endif
