/*
 * descriptors.h - close many descriptors at once, even on kernels without close_range
 * (before Linux 5.9, or 5.11 for CLOSE_RANGE_CLOEXEC).
 *
 * Both functions only make system calls: they may be called between fork, or vfork, and
 * execve. -1 and errno only if the kernel has no close_range and /proc is not mounted.
 */
#ifndef RAYTRAIN_UTIL_DESCRIPTORS_H
#define RAYTRAIN_UTIL_DESCRIPTORS_H

/* Close descriptors first to last, inclusive; last -1: all from first on. */
int descriptors_close(int first, int last);
/* Make all descriptors from first on close when a program is executed. */
int descriptors_cloexec(int first);

/*
 * For a descriptor that is one of many, such as those of a dataset's files. If it is
 * not among the first 256, it gets a number beyond those that select(2) can handle, and
 * the soft limit of this process is raised to the hard one, so that enough numbers
 * remain for all other code. Returns its number, which is the old one if no other is
 * free. The new one is closed when a program is executed.
 */
int descriptor_raise(int fd);

#endif
