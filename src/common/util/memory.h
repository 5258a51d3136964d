/* memory.h - how much memory this process may still allocate. */
#ifndef RAYTRAIN_UTIL_MEMORY_H
#define RAYTRAIN_UTIL_MEMORY_H

#include <stdint.h>

/*
 * What the node could provide without swapping, or what the control groups of this
 * process (a Slurm step's, for example) still allow, whichever is less; minus a margin,
 * since a process that takes the last page gets no error: the kernel kills a process. A
 * group's cache of files does not count as used.
 */
uint64_t memory_available(void);

/* The same with /proc and /sys/fs/cgroup elsewhere. */
uint64_t memory_available_in(const char *proc, const char *cgroup);

#endif
