/*
 * run_lock.h - one raytrain-run at a time in a run directory: the file RUN/.lock.
 *
 * It is an fcntl lock, which the kernel gives back when its holder dies, however it
 * dies. That is not enough on network file systems: some have no locks, or locks that
 * one node alone knows of, and some servers keep the lock of a node that went down. So
 * the holder also counts up in the file every few seconds, and a lock that another host
 * seems to hold, but has not touched for a minute (some seconds, if this node's kernel
 * grants the lock), is taken over: the file is replaced by a new one, or written anew.
 * Who was only asleep finds that its file is gone, and stops. No clocks are compared:
 * who wants the lock watches the file, which never changes its size.
 *
 * On the host of the holder nobody waits: there the kernel knows who lives. The file
 * also says which file it is: in a copy of a run directory it is nobody's lock.
 */
#ifndef RAYTRAIN_RUN_RUN_LOCK_H
#define RAYTRAIN_RUN_RUN_LOCK_H

#include <stdbool.h>

#include "util/error.h"

struct run_lock;

/* Lock the run in the directory path. RAYTRAIN_ESTORAGE where another holds it, with
 * that one's host, pid, Slurm job and time. To find out that a holder on another host
 * is dead takes a minute, that it lives some seconds: before that, `tell` (NULL is
 * fine) hears a sentence about it. */
int run_lock_take(const char *path, void (*tell)(const char *text),
                  struct run_lock **lock, struct error *err);
/* Give it up. NULL is fine. */
void run_lock_release(struct run_lock *lock);
/*
 * Touch the file from a thread of its own, until the release. Should the lock be lost,
 * the process is sent SIGTERM and SIGINT, the two signals that stop a run at once.
 * After it the directory must not be renamed.
 */
int run_lock_keep(struct run_lock *lock, struct error *err);
/* -1: it has been lost. RAYTRAIN_ESTORAGE says how, who has the run now if anybody, and
 * what to do. NULL is no lock, and cannot be lost. */
int run_lock_check(const struct run_lock *lock, struct error *err);

/* Is the run at path held by a live process? holder is what that one says of itself.
 * Not for a process that holds it: closing any descriptor of the lock gives it up. */
bool run_lock_is_held(const char *path, char holder[256]);

/* -- for tests -- */
/* The same as run_lock_take, with another minute; `without`: as if this file system had
 * no locks. */
int run_lock_take_as(const char *path, double silence_s, bool without,
                     void (*tell)(const char *text), struct run_lock **lock,
                     struct error *err);
/* The same as run_lock_keep, which touches the file every few seconds. */
int run_lock_keep_as(struct run_lock *lock, double touch_s, struct error *err);

#endif
