/*
 * run_dir.h - the run directory: names of what is in it, creation, marker, lock.
 *
 *   RUN/run.cfg  result.json  result.h5  checkpoint_000012.h5  .marker  .lock  .id
 *   RUN/artifacts/  (the training function's)
 *   RUN/logs/attempt-0/{rank-00000.out,rank-00000.err,run.cfg,attempt.json}
 *   RUN/logs/attempt-0/{error.json,events.json,step,end.json,hosts,heartbeats}
 */
#ifndef RAYTRAIN_RUN_RUN_DIR_H
#define RAYTRAIN_RUN_RUN_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "run/run_lock.h"
#include "util/error.h"

struct run_dir {
    char *path; /* absolute */
    struct run_lock *lock;
};

enum run_dir_mode {
    RUN_DIR_NEW,    /* it must not exist: the error names --resume and --fresh */
    RUN_DIR_RESUME, /* continue, or create */
    RUN_DIR_FRESH /* an existing one is renamed to RUN.N (the first free N), never deleted */
};

/* Create or enter STORAGE/NAME and lock it (run_lock.h, which also explains `tell`).
 * The name is one path component: no '/', not "." or "..", 1..200 bytes, no control
 * characters. *existed: there was a run to continue. *set_aside (malloc'ed, may be
 * NULL): where a fresh start moved the old run. RAYTRAIN_ESTORAGE with path and cause;
 * RAYTRAIN_EINVAL for names. If the run is locked, the error names the host, pid and
 * time of the holder. A run, or a storage directory, that another user could replace is
 * RAYTRAIN_EINVAL (util/run_record.h). */
int run_dir_enter(const char *storage, const char *name, enum run_dir_mode mode,
                  void (*tell)(const char *text), struct run_dir *dir, bool *existed,
                  char **set_aside, struct error *err);
void run_dir_leave(struct run_dir *dir);
/* Leave a directory that did not exist before, and remove it if it has no run.cfg: the
 * run has not begun, and its name is free; a run that was set aside (NULL: none) gets it
 * back. What others have put there stays. */
void run_dir_abandon(struct run_dir *dir, const char *set_aside);

/* The directory for files of the training function, made when the function asks for
 * it. */
#define RUN_DIR_ARTIFACTS "artifacts"

/* A new random token in RUN/.marker, with the configuration for the workers; *token is
 * malloc'ed. Only this user can read it. So the configuration beside that token is that
 * of the launcher, from which the workers have it, even if other users write in RUN. */
int run_dir_write_marker(const struct run_dir *dir, const char *config, char **token,
                         struct error *err);
/* Check that this node sees it, and read the configuration: *config is malloc'ed, and
 * config may be NULL. Otherwise RAYTRAIN_ESTORAGE names node and path. */
int run_dir_check_marker(const char *path, const char *token, const char *host,
                         char **config, struct error *err);

#define RUN_ID_LENGTH 32 /* hexadecimal digits */

/* The run's random id, in RUN/.id: made at the first call, then the same for as long as
 * the run is continued, even if it is moved. A copy of the directory is another run,
 * and gets its own. Must not be called by two processes at once. */
int run_dir_id(const char *path, char id[RUN_ID_LENGTH + 1], struct error *err);

/* Highest attempt number with a log directory, -1 if none. */
int run_dir_last_attempt(const char *path);
/* RUN/logs, created, and not through a link. */
int run_dir_make_logs(const char *path, struct error *err);
/* RUN/logs/attempt-K, created, and not through links; *log_dir malloc'ed. */
int run_dir_make_log_dir(const char *path, int attempt, char **log_dir,
                         struct error *err);
/* Paths; malloc'ed, NULL without memory. */
char *run_dir_file(const char *path, const char *name); /* RUN/name */
char *run_dir_checkpoint(const char *path, long iteration);
char *run_dir_log_dir(const char *path, int attempt);

/* Up to this many workers, each has log files of its own; above that, each node has one
 * pair. */
#define RUN_DIR_RANK_LOGS_MAX 256
#define RUN_DIR_LOG_NAME_MAX  300

/* In a log directory: the name of the logs of `rank` on `host`, without ".out" or
 * ".err"; `workers` is the number of workers. */
void run_dir_log_name(int workers, int rank, const char *host,
                      char name[RUN_DIR_LOG_NAME_MAX]);

/* The names of a checkpoint's files: "checkpoint_000012.h5" in a run directory and
 * among the images of a node, "checkpoint_000012.held" beside an image. */
#define CHECKPOINT_PREFIX "checkpoint_"
#define CHECKPOINT_ENDING ".h5"

/* DIR/checkpoint_000012ENDING; malloc'ed, NULL without memory. */
char *checkpoint_name_path(const char *dir, int64_t iteration, const char *ending);
/* The iteration in the name of a file. Each iteration has exactly one valid name; -1
 * for all others. */
int64_t checkpoint_name_iteration(const char *name, const char *ending);

/* For qsort(3) of iterations: ascending, descending. */
int iteration_ascending(const void *a, const void *b);
int iteration_descending(const void *a, const void *b);

#endif
