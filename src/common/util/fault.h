/*
 * fault.h - fault points: named places where tests crash a process or make a system
 * call fail.
 *
 * They are compiled in only with configure --enable-fault-points, which is the default
 * if the unit tests are built. One of them is armed by
 *
 *     RAYTRAIN_FAULT=POINT[:RANK[:ACTION]]
 *
 * RANK is a number (a rank, or how many times to pass the point before) or "all" (the
 * default). ACTION is one of
 *
 *     kill      SIGKILL to this process (the default)
 *     killall   SIGKILL to its parent process, too, as if the node went down
 *     enospc    the next call fails: no space left
 *     eio       the same: I/O error
 *     enoent    the same: no such file
 *     enosys    the same: the kernel has no such call
 *     eagain    the same: a resource, such as processes, is used up
 *     stop      SIGSTOP to this process
 *     slow      half a second each time: work that takes long
 *     wait      this thread waits until the FIFO RAYTRAIN_FAULT_FIFO has been opened
 *               for writing and closed again; other threads continue
 *
 * t/1030-faults.t tries all points of a save, t/1070-tiers.t those of node images,
 * t/1080-launcher-killed.t those of the launcher; each fails if there is a point that
 * it does not know (t/faults.sh).
 */
#ifndef RAYTRAIN_UTIL_FAULT_H
#define RAYTRAIN_UTIL_FAULT_H

#include "config.h"

#ifdef RAYTRAIN_FAULTS
/* 0; or -1 and errno, instead of making the system call that follows. */
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
