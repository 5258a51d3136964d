/*
 * run_lock.h - the lock of a run directory, RUN/.lock: one raytrain-run at a time.
 *
 * It is an fcntl lock of the open file, which the kernel releases when its holder dies,
 * however it dies, and any process to which the holder has passed the open file on.
 * On network file systems that is not enough: some have no locks, or locks that only
 * one node knows of, and some servers keep the lock of a node that went down. So the
 * holder also increments a counter in the file every few seconds (a touch). A lock that
 * another host seems to hold, but has not touched for a minute (or for some seconds, if
 * this node's kernel grants the lock), is taken over: the file is replaced by a new
 * one, or rewritten. A holder that was merely suspended finds that its file is gone,
 * and stops. No clocks are compared: a process that wants the lock watches the file,
 * which never changes its size.
 *
 * On the host of the holder no process has to watch: there the kernel knows which
 * processes live. The file also names itself by its inode number: in a copy of a run
 * directory it does not count as a lock.
 */
#ifndef RAYTRAIN_RUN_RUN_LOCK_H
#define RAYTRAIN_RUN_RUN_LOCK_H

#include <stdbool.h>

#include "util/error.h"

struct run_lock;

/* Lock the run in the directory path. RAYTRAIN_ESTORAGE if it is locked, with host,
 * pid, Slurm job and time of the holder. It takes a minute to find out that a holder on
 * another host is dead, and some seconds to find out that it lives; meanwhile a
 * sentence about it is passed to `tell` (NULL is fine). */
int run_lock_take(const char *path, void (*tell)(const char *text),
                  struct run_lock **lock, struct error *err);
/* Release it. NULL is fine. */
void run_lock_release(struct run_lock *lock);
/* The same, but first remove its file: a process that waits for the lock starts
 * over. */
void run_lock_remove(struct run_lock *lock);
/*
 * Touch the file from a thread, until the release. If the lock is lost, the process is
 * sent SIGTERM and SIGINT, the two signals that stop a run at once. From now on the
 * directory must not be renamed.
 */
int run_lock_keep(struct run_lock *lock, struct error *err);
/* -1: it has been lost. RAYTRAIN_ESTORAGE says how, which process has the run now, if
 * any, and what to do. NULL is not a lock, and cannot be lost. */
int run_lock_check(const struct run_lock *lock, struct error *err);

/* For another process that is to hold the lock as long as it lives, even if this one
 * dies: the open file. -1: NULL. */
int run_lock_descriptor(const struct run_lock *lock);
/* In that process, once its parent, the holder, has died: from now on this one is named.
 * Takes fd. RAYTRAIN_ESTORAGE if another process has taken the lock. */
int run_lock_inherit(const char *path, int fd, long parent, struct run_lock **lock,
                     struct error *err);

/* Does a live process hold the run at path? `holder` describes it. Must not be called
 * by the holder: closing any descriptor of the lock releases it. */
bool run_lock_is_held(const char *path, char holder[256]);

/* What a process that only looks sees, from any host. */
enum run_lock_state {
    RUN_LOCK_FREE,
    RUN_LOCK_HELD,     /* by a live process of this host */
    RUN_LOCK_ELSEWHERE /* of another host: it lives if `text` changes within patience_s */
};
struct run_lock_sight {
    enum run_lock_state state;
    char holder[256];
    char text[513];
    double patience_s;
    bool locked; /* this node's kernel knows of the lock */
};
/* Must not be called by the holder, as run_lock_is_held(). */
void run_lock_look(const char *path, struct run_lock_sight *sight);

/* -- for tests -- */
/* run_lock_take() with another duration instead of a minute; `without`: as if this file
 * system had no locks. */
int run_lock_take_as(const char *path, double silence_s, bool without,
                     void (*tell)(const char *text), struct run_lock **lock,
                     struct error *err);
/* run_lock_keep() with another interval between touches. */
int run_lock_keep_as(struct run_lock *lock, double touch_s, struct error *err);

#endif
