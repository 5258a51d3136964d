/*
 * descriptors.h - close many descriptors at once, also on kernels without close_range
 * (before Linux 5.9, or 5.11 for CLOSE_RANGE_CLOEXEC).
 *
 * Both functions only make system calls: they may be called between fork, or vfork, and
 * execve. -1 and errno only if the kernel has no close_range and /proc is not mounted.
 */
#ifndef RAYTRAIN_EVENT_DESCRIPTORS_H
#define RAYTRAIN_EVENT_DESCRIPTORS_H

/* Close descriptors first to last, inclusive; last -1: all from first on. */
int descriptors_close(int first, int last);
/* Make all descriptors from first on close when a program is executed. */
int descriptors_cloexec(int first);

#endif
