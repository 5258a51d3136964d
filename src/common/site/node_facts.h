/*
 * node_facts.h - what a process finds on its node: limits, memory, devices, the kernel.
 * Only facts; launcher/check judges whether they are good.
 */
#ifndef RAYTRAIN_SITE_NODE_FACTS_H
#define RAYTRAIN_SITE_NODE_FACTS_H

#include <jansson.h>

/*
 *   {"host", "node": Slurm's name or the host's, "kernel", "cpus": usable ones,
 *    "memory_available": bytes, "shm": {"size", "free"} or null,
 *    "tmp": {"path", "size", "free"}, {"path", "silent": true}, {"path", "not_asked": true}
 *           without the command stat, or null,
 *    "limits": {"memlock", "nofile", "nproc", "core", "stack"}: soft limits, -1: none,
 *    "pidfd": bool, "gpu_devices": number of /dev/nvidiaN, "rdma_devices": number}
 *
 * New; NULL without memory.
 */
json_t *node_facts(void);

#endif
