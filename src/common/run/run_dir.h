/*
 * run_dir.h - the run directory: names of what is in it, creation, marker, lock.
 *
 *   RUN/run.cfg  result.json  result.h5  checkpoint_000012.h5  .marker  .lock  .id
 *   RUN/logs/attempt-0/{rank-00000.out,rank-00000.err,run.cfg,attempt.json}
 *   RUN/logs/attempt-0/{error.json,events.json,step,end.json,hosts,heartbeats/NODE}
 */
#ifndef RAYTRAIN_RUN_RUN_DIR_H
#define RAYTRAIN_RUN_RUN_DIR_H

#include <stdbool.h>

#include "run/run_lock.h"
#include "util/error.h"

struct run_dir {
    char *path; /* absolute */
    struct run_lock *lock;
};

enum run_dir_mode {
    RUN_DIR_NEW,    /* it must not exist: the error names --resume and --fresh */
    RUN_DIR_RESUME, /* continue, or create */
    RUN_DIR_FRESH   /* what exists is renamed to RUN.N (the first free N), never deleted
                     */
};

/* Create or enter STORAGE/NAME and lock it (run_lock.h, also about tell). The
 * name is one path component: no '/', not "." or "..", 1..200 bytes, no control
 * characters. *existed says whether there was a run to continue; *set_aside (malloc'ed,
 * may be NULL) where a fresh start moved the old one. RAYTRAIN_ESTORAGE with path and
 * cause; RAYTRAIN_EINVAL for names; a locked run names the holder's host, pid and time.
 */
int run_dir_enter(const char *storage, const char *name, enum run_dir_mode mode,
                  void (*tell)(const char *text), struct run_dir *dir, bool *existed,
                  char **set_aside, struct error *err);
void run_dir_leave(struct run_dir *dir);

/* A new random token in RUN/.marker; *token is malloc'ed. */
int run_dir_write_marker(const struct run_dir *dir, char **token, struct error *err);
/* Does this node see it? RAYTRAIN_ESTORAGE names node and path where not. */
int run_dir_check_marker(const char *path, const char *token, const char *host,
                         struct error *err);

#define RUN_ID_LENGTH 32 /* hexadecimal digits */

/* The run's random id, in RUN/.id: made at the first call, then the same for as long as
 * the run is continued, also where it is moved; a copy of the directory is another run,
 * and gets its own. Not by two processes at once. */
int run_dir_id(const char *path, char id[RUN_ID_LENGTH + 1], struct error *err);

/* Highest attempt number with a log directory, -1 if none. */
int run_dir_last_attempt(const char *path);
/* RUN/logs/attempt-K, created; *log_dir malloc'ed. */
int run_dir_make_log_dir(const char *path, int attempt, char **log_dir,
                         struct error *err);
/* Paths; malloc'ed, NULL without memory. */
char *run_dir_file(const char *path, const char *name); /* RUN/name */
char *run_dir_checkpoint(const char *path, long iteration);
char *run_dir_log_dir(const char *path, int attempt);
char *run_dir_heartbeats(const char *log_dir);

/* In a log directory: a file that asks the workers to stop at their next report with a
 * checkpoint, since there could be more of them. */
#define RUN_DIR_RESIZE "resize"

/* A heartbeat is one line of so many bytes, in place of the one before: "COUNT
 * UNIX-TIME PID" and blanks. A reader looks only whether it has changed. */
#define RUN_DIR_HEARTBEAT_BYTES 64

#endif
