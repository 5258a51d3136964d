/*
 * fault.h - named places where a test lets a process die, or a disk fail.
 *
 * They exist in builds with fault points alone (configure --enable-fault-points, the
 * default where the unit tests are built); in any other nothing is compiled in. One
 * point is armed by
 *
 *     RAYTRAIN_FAULT=POINT[:RANK[:ACTION]]
 *
 * RANK is a number (of a rank, or how many came before) or "all" (the default), ACTION one of
 *
 *     kill      SIGKILL to this process (the default)
 *     killall   SIGKILL to the process that started it, too: a node goes down
 *     enospc    the call that follows fails: no space
 *     eio       the same: I/O error
 *     enoent    the same: no such file
 *     enosys    the same: the kernel has no such call
 *     eagain    the same: for lack of something, such as processes
 *     stop      SIGSTOP to this process
 *
 * t/1030-faults.t goes through all points of a save, t/1070-tiers.t through those of
 * the images of nodes, t/1080-launcher-killed.t through those of the launcher half;
 * each fails for one that it does not know (t/faults.sh).
 */
#ifndef RAYTRAIN_UTIL_FAULT_H
#define RAYTRAIN_UTIL_FAULT_H

#include "config.h"

#ifdef RAYTRAIN_FAULTS
/* 0, or -1 and errno in place of the system call that follows. */
int fault_point(const char *name, int rank);
#else
static inline int fault_point(const char *name, int rank)
{
    (void)name;
    (void)rank;
    return 0;
}
#endif

#endif
