/*
 * scaling_config.h - ScalingConfig: how many workers there are, and the resources of
 * each.
 */
#ifndef RAYTRAIN_CONFIG_SCALING_CONFIG_H
#define RAYTRAIN_CONFIG_SCALING_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum placement_strategy {
    PLACEMENT_PACK,         /* as few nodes as possible */
    PLACEMENT_SPREAD,       /* evenly over all nodes, if possible */
    PLACEMENT_STRICT_PACK,  /* one node, or fail */
    PLACEMENT_STRICT_SPREAD /* a node of its own for each worker, or fail */
};

struct scaling_config {
    int num_workers;     /* default 1 */
    int max_workers;     /* == num_workers unless elastic (MIN:MAX) */
    bool use_gpu;        /* default false */
    int cpus_per_worker; /* resources_per_worker.cpu, default 1 */
    /* resources_per_worker.gpu, -1: not set. After validation 0 without use_gpu, else 1
     * if it was not set or is less than 1. */
    int gpus_per_worker;
    /* resources_per_worker.gpu below 1, in GPU_PARTS of a GPU; 0: workers do not share
     * GPUs. */
    int gpu_parts;
    uint64_t memory_per_worker; /* resources_per_worker.memory, bytes; 0: no limit */
    enum placement_strategy placement_strategy; /* default PACK */
    char *accelerator_type;                     /* NULL: any */
    int spare_nodes;                            /* not used at first; default 0 */
    /* Only on the node of this process. Not a key: a program sets it. */
    bool on_this_node;
    /* Default 60; 0: an elastic group does not grow. */
    int elastic_resize_monitor_interval_s;
};

#define GPU_TEXT_MAX 32
#define GPU_PARTS    10000 /* Ray's precision: 0.0001 of a GPU */

struct config_table;
extern const struct config_table scaling_config_table;

void scaling_config_init(struct scaling_config *cfg);
/* May the number of workers change from one attempt to the next? */
bool scaling_config_is_elastic(const struct scaling_config *cfg);
/* How many workers share a GPU; 1: they do not share. */
int scaling_config_workers_per_gpu(const struct scaling_config *cfg);
/* "2 GPUs", "0.5 of a GPU". Returns text. */
const char *scaling_config_gpu_text(const struct scaling_config *cfg,
                                    char text[GPU_TEXT_MAX]);
/* Determine the GPUs of a worker by Ray's rules. */
int scaling_config_validate(struct scaling_config *cfg, struct error *err);

#endif
