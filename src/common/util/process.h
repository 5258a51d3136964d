/*
 * process.h - know when a process ends. The kernel's pidfds say it; on kernels without
 * them (before Linux 5.3) a thread waits for a child, and any other process is looked
 * for in /proc, by its number and the time of its start.
 */
#ifndef RAYTRAIN_UTIL_PROCESS_H
#define RAYTRAIN_UTIL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A descriptor that becomes readable once this child of the calling process has ended,
 * for the caller to close; the child is still to be reaped then, by the caller alone.
 * -1 and errno.
 */
int process_child_fd(pid_t child);

/* Reap a child that was killed. False: after so many seconds it has still not ended, for
 * one that waits for a device or for storage does not die; it stays a child of ours. */
bool process_reap(pid_t child, double seconds, int *wait_status);

/* When a process started, in the kernel's ticks since the boot; 0: there is none, or it
 * has ended. */
unsigned long long process_birth(pid_t pid);

/* A process that need not be a child of ours. */
struct process {
    pid_t pid;
    int fd;                  /* its pidfd; -1: there are none */
    unsigned long long born; /* else: when it started, as /proc says it */
};

/* The process must be known to exist. -1 and errno: ESRCH if it is gone. May be used
 * from a fork of the process that opened it, too. */
int process_open(pid_t pid, struct process *p);
/* True once it has ended. Waits for that at most timeout_ms; -1: for good. */
bool process_wait(const struct process *p, int timeout_ms);
void process_close(struct process *p);

#endif
