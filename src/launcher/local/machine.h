/*
 * machine.h - what this machine has for a run: CPUs, memory, GPUs.
 */
#ifndef RAYTRAIN_LOCAL_MACHINE_H
#define RAYTRAIN_LOCAL_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "launch/placement.h"

/* This host as the one node of *out. RAYTRAIN_ENOMEM. */
int machine_resources(struct resources *out, struct error *err);

/* The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them: what that
 * variable says where it is set (visible not NULL), else the devices nvidia0,
 * nvidia1... in dev_dir. *names is malloc'ed and NULL-terminated, its strings too. */
int machine_gpus(const char *visible, const char *dev_dir, char ***names, size_t *n,
                 struct error *err);

/* The bytes that this process can have: MemTotal, or the lowest limit of the cgroups it
 * is in. root stands before /proc and /sys ("" is the real one). 0: unknown. */
uint64_t machine_memory(const char *root);

/* The CPUs that this process may run on. At least 1. */
int machine_cpus(void);

#endif
