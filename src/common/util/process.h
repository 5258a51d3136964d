/*
 * process.h - processes: learn when one ends and where its pid is valid, and restore
 * the signals of this process.
 *
 * The kernel's pidfds report the end of a process. On kernels without them (before
 * Linux 5.3) a thread waits for a child, and any other process is looked up in /proc,
 * by its pid and its start time.
 */
#ifndef RAYTRAIN_UTIL_PROCESS_H
#define RAYTRAIN_UTIL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor that becomes readable once this child has ended. The caller closes it.
 * From then on, only the caller may reap the child. -1 and errno. */
int process_child_fd(pid_t child);

/* Reap a child that was killed. False: it has not ended after `seconds`, because a
 * process that waits for a device or for storage cannot die; it remains our child. */
bool process_reap(pid_t child, double seconds, int *wait_status);

/* When a process started, in clock ticks since boot. 0: there is no such process, or it
 * has ended. */
unsigned long long process_birth(pid_t pid);
/* Is it stopped, by SIGSTOP and the like or by a debugger? False if it does not
 * exist. */
bool process_is_stopped(pid_t pid);
/* Does one of its threads have a CPU, or wait for one? False if it does not exist. */
bool process_is_runnable(pid_t pid);

/* Any process, not just a child. */
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

/* The place where a pid means the same process: a host since its last boot, and a pid
 * namespace on it, such as that of a container. Writes the place of this process, as
 * text without a newline. */
void place_of_self(char place[PLACE_MAX]);
/* The same as a number. */
uint32_t place_number(void);

/* Call it at the start of main(), so that signals do not depend on the parent process:
 * unblock all, and restore the default action of those that must not be ignored. SIGHUP
 * stays ignored if it is, as nohup requires. */
void signals_restore(void);
bool signals_hangup_is_ignored(void);

#endif
