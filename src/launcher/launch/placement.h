/*
 * placement.h - from a ScalingConfig and the available resources to a plan: which
 * nodes, and how many workers on each. A pure function.
 */
#ifndef RAYTRAIN_LAUNCH_PLACEMENT_H
#define RAYTRAIN_LAUNCH_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/scaling_config.h"
#include "util/error.h"

struct node_resources {
    char *name;
    int cpus; /* usable by this run */
    int gpus;
    int gpu_slices;  /* of all its GPUs together, as Slurm's shards; 0: not divided */
    char *gpu_type;  /* NULL: unknown */
    uint64_t memory; /* bytes; 0: unknown, not checked */
};

/* GPUs that the batch system gives away in slices (Slurm's shards, or percentages of
 * MPS). each: slices of a GPU; 0: whole GPUs only. */
struct gpu_slices {
    char name[8]; /* "shard", "mps" */
    int each;
    bool only; /* the run has no whole GPU, but slices */
};

struct resources {
    const char *what; /* for messages: "this machine", "allocation 4711" */
    struct node_resources *nodes;
    size_t n_nodes;
    /*
     * How many workers may share a CPU if each asks for one, the default: then a node
     * takes cpus x cpu_share of them. Workers that ask for two or more CPUs never share
     * them, nor are GPUs and memory shared. 0 and 1: nothing is shared (Slurm). The
     * local launcher sets RESOURCES_CPU_SHARE_LOCAL, so that a laptop with 2 cores runs
     * 8 workers but refuses 1000.
     */
    int cpu_share;
    struct gpu_slices slices;
};
#define RESOURCES_CPU_SHARE_LOCAL 16
void resources_clear(struct resources *r);

struct placed_node {
    char *name;
    int tasks; /* >= 1 */
    int gpus;  /* that this run may use there; 0: unknown */
};

struct placement {
    int workers;
    struct placed_node *nodes; /* in rank order: ranks are grouped by node */
    size_t n_nodes;
    int cpus_per_worker;
    int gpus_per_worker; /* that a worker sees: 1 if it has a part of one */
    int gpu_parts;       /* as in scaling_config; 0: workers do not share GPUs */
    /* of a node, local ranks 0 to this - 1 have its first GPU, and so on; 0 and 1: each
     * has its own */
    int workers_per_gpu;
    struct gpu_slices slices;
    uint64_t memory_per_worker;
};

/* For a range of workers, plans as many as there are CPUs (and GPUs, memory) for
 * without sharing; the minimum of the range may share CPUs. RAYTRAIN_EFIT, with the
 * numbers requested and available and the resource that is short. */
int placement_plan(const struct scaling_config *scaling, const struct resources *have,
                   struct placement *plan, struct error *err);
/* Clear *to even after a failure. */
int placement_copy(const struct placement *from, struct placement *to,
                   struct error *err);
/* How many GPUs `tasks` workers on one node need. */
int placement_gpus(const struct placement *plan, int tasks);
/* How many slices of GPUs `tasks` workers on one node need, if each has a part of a
 * GPU. */
int placement_slices(const struct placement *plan, int tasks);
void placement_clear(struct placement *plan);
/* The node of this rank; "" if the plan has no such rank. */
const char *placement_host(const struct placement *plan, int rank);

#endif
