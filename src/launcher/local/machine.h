/*
 * machine.h - the resources of this machine: CPUs, memory, GPUs.
 */
#ifndef RAYTRAIN_LOCAL_MACHINE_H
#define RAYTRAIN_LOCAL_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "launch/placement.h"

/* This host as the one node of *out. RAYTRAIN_ENOMEM. */
int machine_resources(struct resources *out, struct error *err);

/* The memory that this process can use, in bytes: MemTotal, or the lowest limit of its
 * cgroups. root is a prefix of /proc and /sys ("" except in tests). 0: unknown. */
uint64_t machine_memory(const char *root);

/* The CPUs that this process may run on. At least 1. */
int machine_cpus(void);

/* This process is number `index`, from 0, of several with `each` GPUs each: from now on
 * it uses only its share of the GPUs that it may use (gpus.h). RAYTRAIN_EFIT: there are
 * too few. Not while other threads read the environment. */
int machine_gpus_share(int index, int each, struct error *err);

#endif
