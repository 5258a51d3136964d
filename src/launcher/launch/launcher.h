/*
 * launcher.h - the seam "where processes come from": slurm (one srun step) and local
 * (forked under an embedded PMIx server).
 *
 * Used by one thread, from an event loop: start a group, poll fd() for reading, call
 * advance() whenever it is readable, until advance() says that all are gone.
 */
#ifndef RAYTRAIN_LAUNCH_LAUNCHER_H
#define RAYTRAIN_LAUNCH_LAUNCHER_H

#include <stdbool.h>

#include "config/options.h"
#include "launch/node_probe.h"
#include "launch/placement.h"
#include "util/child.h"

/* What to start. All pointers are borrowed for the time of start(). */
struct launch_spec {
    const struct placement *plan;
    char *const *argv;   /* the worker's command, argv[0] an absolute path */
    const char *log_dir; /* exists; rank-%05d.out/.err, above 256 workers node-NAME.* */
    const char *job_name; /* a label for squeue: the run's name */
    const char *srun_args; /* NULL: none */
    const struct scaling_config *scaling;
    bool overlap; /* a group before this one, or the step around this process, may hold
                     what this one needs */
};

/* How the group ended, or why it is ending. */
struct launch_outcome {
    bool failed;     /* some worker did not exit with 0 or EX_TEMPFAIL (75) */
    bool launch_failed; /* the group never came up (srun refused, exec failed) */
    bool passes;        /* for a reason that may be gone at the next attempt */
    bool busy;          /* because others of the allocation hold what it needs */
    raytrain_status code; /* why, where it is no failure of a worker (RAYTRAIN_ESTORAGE:
                             a node cannot write the logs); else RAYTRAIN_OK */
    int rank;        /* first worker that failed; -1: unknown */
    char host[256];  /* its node; "" unknown */
    char lost[256];  /* nodes that it says are lost, "n2,n[4-5]"; "": none */
    int exit_status; /* its exit status, or 0 */
    int signal;      /* the signal that killed it, or 0 */
    bool oom;        /* and that was the kernel, for lack of memory */
    bool stopped;    /* all ended with 0 or 75, at least one with 75 */
    char detail[1024]; /* what the launcher said about it (srun's own message); "" */
};

struct group; /* each launcher's own */

struct launcher_ops {
    const char *name;
    /* Could this launcher work here? (auto picks the first that says yes: slurm inside an
     * allocation, local otherwise.) */
    bool (*usable)(void);
    /* Is all there that a group needs to be started at all? Asked before an allocation
     * is taken, or anything planned. RAYTRAIN_ENOTSUP. NULL: yes. */
    int (*check)(const char *srun_args, struct error *err);
    /* What there is to place workers on. RAYTRAIN_EFIT / RAYTRAIN_ENOTSUP. */
    int (*resources)(const struct scaling_config *scaling, struct resources *out,
                     struct error *err);
    /* The exact command that start() would run, NULL-terminated, malloc'ed, strings too:
     * for --dry-run. */
    int (*command)(const struct launch_spec *spec, char ***argv, struct error *err);
    /* Never waits: advance() takes on what takes longer, and returns -1 if it fails.
     * RAYTRAIN_ENOMEM and RAYTRAIN_ECOMM: it may be tried again. */
    int (*start)(const struct launch_spec *spec, struct group **out, struct error *err);
    /* Readable when advance() has something to do. */
    int (*fd)(const struct group *g);
    /* Never blocks. *done is true once every worker is gone and outcome is final. When
     * one worker has failed, the others are being ended: no call is needed for that. */
    int (*advance)(struct group *g, bool *done, struct launch_outcome *outcome,
                   struct error *err);
    int (*signal)(struct group *g, int sig, struct error *err); /* to every worker */
    int (*kill)(struct group *g, struct error *err);            /* all, now, for good */
    /* The nodes of some workers are lost: kill all, wait for the end of the `left`
     * others (and not for long), and count the group as over. NULL: a node cannot be
     * lost without this process. */
    int (*abandon)(struct group *g, int left, struct error *err);
    /* Do nodes answer (node_probe.h)? NULL as abandon. */
    node_ask *ask;
    /* Frees everything; ends what still runs; leaves no process and no file behind. */
    void (*destroy)(struct group *g);
};

extern const struct launcher_ops launcher_slurm;
extern const struct launcher_ops launcher_local;

/* By name ("auto", "slurm", "local"). RAYTRAIN_ENOTSUP where it cannot work here. */
int launcher_find(const char *name, const struct launcher_ops **out, struct error *err);

/* The launcher's check, if it has one. */
int launcher_check(const struct launcher_ops *launcher, const char *srun_args,
                   struct error *err);

/* slurm/salloc.c: outside an allocation, start `salloc ... argv`, so that the same
 * command runs again inside one: *salloc is that child, and dies with this process.
 * CHILD_INIT where this is inside already. */
int launcher_slurm_allocate(const struct scaling_config *scaling, const char *job_name,
                            char *const argv[], struct child *salloc,
                            struct error *err);

/* Up to here every worker has log files of its own, above one pair serves a node. */
#define LAUNCHER_RANK_LOGS_MAX 256

/* Stop requests reach workers as this signal, in both launchers. */
#define LAUNCHER_STOP_SIGNAL SIGUSR1

#endif
