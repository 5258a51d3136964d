/*
 * process.h - processes: know when one ends, where its pid is valid, and give the
 * calling one its signals back.
 *
 * The kernel's pidfds report the end of a process. On kernels without them (before
 * Linux 5.3) a thread waits for a child, and any other process is looked up in /proc,
 * by its pid and the time of its start.
 */
#ifndef RAYTRAIN_UTIL_PROCESS_H
#define RAYTRAIN_UTIL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A descriptor that becomes readable once this child has ended; the caller closes it.
 * Only the caller may reap the child, after that. -1 and errno.
 */
int process_child_fd(pid_t child);

/* Reap a child that was killed. False: it has not ended after so many seconds, since a
 * process that waits for a device or for storage does not die; it remains our child. */
bool process_reap(pid_t child, double seconds, int *wait_status);

/* When a process started, in ticks of the kernel since boot; 0: there is none, or it
 * has ended. */
unsigned long long process_birth(pid_t pid);
/* By SIGSTOP and the like, or by a debugger. False: not, or there is none. */
bool process_is_stopped(pid_t pid);
/* Does one of its threads have a CPU, or wait for one? False: not, or there is none. */
bool process_is_runnable(pid_t pid);

/* Any process, not only a child. */
struct process {
    pid_t pid;
    int fd;                  /* its pidfd; -1: the kernel has none */
    unsigned long long born; /* then: its start time in /proc */
};

/* The process must be known to exist. -1 and errno: ESRCH if it is gone. Also valid in
 * a fork of the process that opened it. */
int process_open(pid_t pid, struct process *p);
/* True once it has ended. Waits at most timeout_ms; -1: without limit. */
bool process_wait(const struct process *p, int timeout_ms);
void process_close(struct process *p);

#define PLACE_MAX 160

/* Where a pid means the same process: a host since its last boot, and a pid
 * namespace on it, such as a container's. The place of this process, as text without
 * a newline. */
void place_of_self(char place[PLACE_MAX]);
/* The same as a number. */
uint32_t place_number(void);

/* At the start of main(), so that signals do not depend on the parent process: unblock
 * all, and give the default action to those that must not be ignored. SIGHUP stays
 * ignored if it is, as nohup wants it. */
void signals_restore(void);
bool signals_hangup_is_ignored(void);

#endif
