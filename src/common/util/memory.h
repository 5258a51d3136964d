/* memory.h - how much memory this process may still allocate. */
#ifndef RAYTRAIN_UTIL_MEMORY_H
#define RAYTRAIN_UTIL_MEMORY_H

#include <stdint.h>

/*
 * The memory that the node could provide without swapping, or that the control groups
 * of this process (a Slurm step's, for example) still allow, whichever is less; minus a
 * margin, since a process that takes the last page does not get an error: the kernel
 * kills a process. The page cache of a group does not count as used.
 */
uint64_t memory_available(void);

/* The same, with other directories in place of /proc and /sys/fs/cgroup. */
uint64_t memory_available_in(const char *proc, const char *cgroup);

#endif
