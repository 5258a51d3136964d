/*
 * placement.h - from a ScalingConfig and what there is to a plan: which nodes, how many
 * workers on each. A pure function: it asks nobody and starts nothing.
 */
#ifndef RAYTRAIN_LAUNCH_PLACEMENT_H
#define RAYTRAIN_LAUNCH_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "config/scaling_config.h"
#include "util/error.h"

struct node_resources {
    char *name;
    int cpus; /* usable by this run */
    int gpus;
    char *gpu_type;  /* NULL: unknown */
    uint64_t memory; /* bytes; 0: unknown, not checked */
};

struct resources {
    const char *what; /* "this machine", "allocation 4711": for messages */
    struct node_resources *nodes;
    size_t n_nodes;
    /*
     * How many workers may share a CPU when each asks for one, the default, which is no
     * claim to a CPU of one's own: then a node takes cpus x share of them. Two CPUs a
     * worker and more are a claim and never shared, nor are GPUs and memory. 0 and 1:
     * nothing is shared (Slurm). The local launcher sets RESOURCES_CPU_SHARE_LOCAL, so
     * that a laptop of 2 cores runs 8 workers, and 1000 are refused.
     */
    int cpu_share;
};
#define RESOURCES_CPU_SHARE_LOCAL 16
void resources_clear(struct resources *r);

struct placed_node {
    char *name;
    int tasks; /* >= 1 */
};

struct placement {
    int workers;
    struct placed_node *nodes; /* in rank order: ranks are grouped by node */
    size_t n_nodes;
    int cpus_per_worker, gpus_per_worker;
    uint64_t memory_per_worker;
};

/* Of a range of workers as many as there are CPUs (and GPUs, memory) for, none of them
 * shared; the least of the range may share. RAYTRAIN_EFIT, with the numbers asked for
 * and available and which resource is short.
 */
int placement_plan(const struct scaling_config *scaling, const struct resources *have,
                   struct placement *plan, struct error *err);
/* On failure *to is to be cleared all the same. */
int placement_copy(const struct placement *from, struct placement *to,
                   struct error *err);
void placement_clear(struct placement *plan);
/* The node of this rank; "" where the plan has no such rank. */
const char *placement_host(const struct placement *plan, int rank);

#endif
