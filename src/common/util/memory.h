/* memory.h - how much memory this process may still take. */
#ifndef RAYTRAIN_UTIL_MEMORY_H
#define RAYTRAIN_UTIL_MEMORY_H

#include <stdint.h>

/*
 * What the node could hand out without swapping, or what the control groups of this
 * process (a Slurm step's, say) still allow, whichever is less; and less a margin: who
 * takes the last page is not refused, he has somebody killed. What a group uses counts
 * but for its cache of files.
 */
uint64_t memory_available(void);

/* The same where /proc and /sys/fs/cgroup are elsewhere. */
uint64_t memory_available_in(const char *proc, const char *cgroup);

#endif
