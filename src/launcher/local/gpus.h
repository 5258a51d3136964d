/*
 * gpus.h - the GPUs of this machine: those of NVIDIA, AMD or Intel, by the names with
 * which a process chooses some of them in its environment, and the CPUs near them. No
 * vendor's library needs to be installed.
 */
#ifndef RAYTRAIN_LOCAL_GPUS_H
#define RAYTRAIN_LOCAL_GPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

typedef char *gpus_getenv(const char *name);

struct gpus {
    /* CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or
     * ZE_AFFINITY_MASK */
    const char *variable;
    char **names; /* NULL-terminated, malloc'ed, its strings too */
    size_t n;
};

/*
 * The GPUs that this process may use. If one of the variables is set, it is the user's
 * choice: its names, up to where the vendor's library would stop reading. Otherwise the
 * devices that are there: NVIDIA's, or else AMD's, or else Intel's. For an NVIDIA GPU
 * with instances (MIG), the instances count. root is a prefix of /dev, /proc and /sys
 * ("" except in tests). RAYTRAIN_ENOMEM.
 */
int gpus_find(const char *root, gpus_getenv *get, struct gpus *out, struct error *err);
void gpus_clear(struct gpus *gpus);

/* The CPUs near the GPUs [first, first + n), if the machine has several NUMA nodes and
 * this process may run on all CPUs: then the process was not bound. false: there is
 * nothing to choose. */
bool gpus_near_cpus(const char *root, const struct gpus *gpus, size_t first, size_t n,
                    cpu_set_t *cpus);

#endif
