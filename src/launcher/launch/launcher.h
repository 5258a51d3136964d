/*
 * launcher.h - the interface of the launchers, which start the workers: slurm (as one
 * srun step) and local (as child processes, with an embedded PMIx server).
 *
 * Used by one thread, from an event loop: start a group, poll fd() for reading, call
 * advance() whenever it is readable, until advance() reports that all workers are gone.
 *
 * To add one: write a folder with a file that defines a `struct launcher_ops`; slots
 * that may be NULL say so. No slot for groups may wait for a process: what takes longer
 * is done by advance(). destroy() leaves no process and no file behind. Add its name to
 * LAUNCHERS (config/registry.h).
 */
#ifndef RAYTRAIN_LAUNCH_LAUNCHER_H
#define RAYTRAIN_LAUNCH_LAUNCHER_H

#include <jansson.h>
#include <stdbool.h>

#include "config/options.h"
#include "launch/allocation_request.h"
#include "launch/batch_request.h"
#include "launch/findings.h"
#include "launch/finish.h"
#include "launch/node_probe.h"
#include "launch/placement.h"
#include "protocol/failure.h"
#include "util/child.h"

/* What to start. All pointers are borrowed for the duration of start(). */
struct launch_spec {
    const struct placement *plan;
    char *const *argv;     /* the worker's command, argv[0] an absolute path */
    const char *log_dir;   /* exists; the logs are named as in run/run_dir.h */
    const char *job_name;  /* a label for squeue: the run's name */
    const char *srun_args; /* NULL: none */
    const struct scaling_config *scaling;
    /* The ranks whose output is shown (show/tee.h); NULL: none. Otherwise, the
     * descriptors are where they write, -1 for --dry-run, and its other end. */
    const char *show;
    int channel, reader;
    /* an earlier group, or the step that contains this process, may hold resources that
     * this group needs */
    bool overlap;
    int attempt; /* as in RAYTRAIN_ATTEMPT; read if keep is set */
    /* Another attempt may follow in the same group: see again(). Only if the launcher
     * has that slot, and keep_obstacle() has nothing against it. */
    bool keep;
    /* How long workers may continue if this process dies after WORKER_STOP_SIGNAL was
     * sent to all of them; before that they die with it. */
    struct finish_terms finish;
};

/* How the group ended, or why it is ending. */
struct launch_outcome {
    /* Some worker did not exit with 0 or EX_TEMPFAIL (75), or the group was never
     * started. */
    bool failed;
    bool passes;    /* the reason may be gone at the next attempt */
    bool busy;      /* because other steps hold what it needs */
    bool stopped;   /* all ended with 0 or 75, at least one with 75 */
    bool stays;     /* once it has ended: again() may start workers in it */
    char lost[256]; /* nodes that the launcher reports as lost, "n2,n[4-5]"; "": none */
    /* The first worker that failed, or the reason why the group was never started (srun
     * refused, exec failed). The cause is CAUSE_WORKER or CAUSE_OOM; code is
     * RAYTRAIN_OK unless no worker was at fault (RAYTRAIN_ESTORAGE: a node cannot write
     * the logs); message is what the launcher reported (srun's own message), or "". */
    struct failure failure;
};

struct group; /* each launcher's own */

/* Waits for `seconds`; false: it was asked to stop waiting. */
typedef bool launcher_wait(void *arg, double seconds);

struct launcher_ops {
    /* ---- Before anything is started ---- */

    /* Could this launcher work here? ("auto" picks the first that could: slurm inside
     * an allocation, local otherwise.) */
    bool (*usable)(void);
    /* May a run be started from this process at all? RAYTRAIN_EUSAGE if it is one of
     * several copies, each of which would start all workers. RAYTRAIN_ENOTSUP. NULL:
     * yes. */
    int (*check_start)(struct error *err);
    /* Does this process run inside a step whose resources a group has to share? NULL:
     * no. */
    bool (*in_step)(void);
    /* Does this installation have what every group needs? Called before an allocation
     * is taken and before anything is planned. RAYTRAIN_ENOTSUP. NULL: yes. */
    int (*check)(const char *srun_args, struct error *err);
    /* Add findings about the batch system of this launcher that matter to runs. Asks
     * the batch system once or twice; no answer within seconds is a finding, too. NULL:
     * there is no batch system. */
    void (*examine)(const char *srun_args, struct findings *findings);
    /* Outside an allocation, take one and start the request's command inside it: *child
     * is the process to wait for, and dies with this one. If this process is already
     * inside one, *child stays CHILD_INIT. NULL: there are no allocations. */
    int (*allocate)(const struct allocation_request *request, struct child *child,
                    struct error *err);
    /* The exact command that allocate() would run, malloc'ed, strings too, for
     * --dry-run; NULL: this process is inside. NULL if allocate is. */
    int (*allocate_command)(const struct allocation_request *request, char ***argv,
                            struct error *err);
    /* Write the script of a batch job that runs the request's command, and submit it,
     * unless it is only to be shown. *script is malloc'ed, NULL after a failure before
     * it was written. Takes about ten seconds at most. RAYTRAIN_EFIT if the job fits
     * nowhere. NULL: there are no batch jobs. */
    int (*submit)(const struct batch_request *request, bool only_show, char **script,
                  struct batch_ticket *ticket, struct error *err);
    /* The resources that workers can be placed on. RAYTRAIN_EFIT / RAYTRAIN_ENOTSUP. */
    int (*resources)(const struct scaling_config *scaling, struct resources *out,
                     struct error *err);
    /* The exact command that start() would run, NULL-terminated, malloc'ed, strings
     * too: for --dry-run. */
    int (*command)(const struct launch_spec *spec, char ***argv, struct error *err);

    /* ---- A group ---- */

    /* Never waits: advance() continues what takes longer, and returns -1 if that fails.
     * RAYTRAIN_ENOMEM and RAYTRAIN_ECOMM: another try may succeed. */
    int (*start)(const struct launch_spec *spec, struct group **out, struct error *err);
    /* Readable when advance() has something to do. */
    int (*fd)(const struct group *g);
    /* Never blocks. *done is true once every worker is gone and outcome is final. When
     * one worker has failed, the launcher kills the others without being asked to. */
    int (*advance)(struct group *g, bool *done, struct launch_outcome *outcome,
                   struct error *err);
    /*
     * Send every worker this signal, after all of them have reported that they handle
     * it. An earlier signal may end a worker, or be lost: Slurm's proctrack/linuxproc
     * skips a task that is still the slurmstepd that was forked for it, for example
     * during the site's TaskProlog, although srun has reported the task as started.
     * From WORKER_STOP_SIGNAL on, launch_spec.finish holds.
     */
    int (*signal)(struct group *g, int sig, struct error *err);
    /* Kill all workers now. */
    int (*kill)(struct group *g, struct error *err);
    /* After the nodes of some workers were lost: kill all workers, wait a few seconds
     * at most for the end of the `left` others, and consider the group ended. NULL:
     * nodes cannot be lost without this process. */
    int (*abandon)(struct group *g, int left, struct error *err);
    /* An event of the workers' attempt (protocol/events.h), in order of time: a group with
     * launch_spec.keep learns from these how its workers end. Call advance() next. NULL as
     * for again. */
    void (*hear)(struct group *g, const json_t *event);
    /* Start the workers of another attempt in a group whose outcome says that it stays.
     * spec->plan has the same nodes and workers as that of start(); argv, srun_args, show
     * and its descriptors are not used. Never waits. -1: the group cannot be used any
     * more, so destroy it and start another. NULL: groups do not stay. */
    int (*again)(struct group *g, const struct launch_spec *spec, struct error *err);
    /* Frees everything; kills what still runs; leaves no process and no file behind. */
    void (*destroy)(struct group *g);

    /* Why no group can stay for another attempt with these arguments: a sentence; NULL:
     * it can. NULL as for again. */
    const char *(*keep_obstacle)(const char *srun_args);

    /* ---- Nodes and earlier groups ---- */

    /* Do nodes answer (node_probe.h)? NULL as for abandon. */
    node_ask *ask;
    /* The nodes on which earlier groups of this name still hold resources: an argument
     * vector; NULL: none, or unknown. The slot is NULL if groups never outlive their
     * end. */
    char **(*leftovers)(const char *job_name);
    /* Called when a group could not be started. If the batch system does not answer, or
     * the nodes are still being prepared, wait until that is over or `wait` returns
     * false, and return true. `say` reports the reason for waiting. NULL: neither can
     * happen. */
    bool (*await_ready)(launcher_wait *wait, void (*say)(void *arg, const char *text),
                        void *arg);
};

extern const struct launcher_ops launcher_slurm;
extern const struct launcher_ops launcher_local;

/* Its name in config/registry.h. */
const char *launcher_name(const struct launcher_ops *launcher);

/* By name ("auto", "slurm", "local"). RAYTRAIN_ENOTSUP if it cannot work here. */
int launcher_find(const char *name, const struct launcher_ops **out, struct error *err);

/* The launcher that a batch job will use: the first that can submit. */
const struct launcher_ops *launcher_of_batch(void);

/* The check_start of the launcher with this name; of all of them for "auto". */
int launcher_check_start(const char *name, struct error *err);

/* Slots that may be NULL, with their defaults. */
int launcher_check(const struct launcher_ops *launcher, const char *srun_args,
                   struct error *err);
bool launcher_in_step(const struct launcher_ops *launcher);
/* The batch system of this launcher; NULL: those of all launchers. */
void launcher_examine(const struct launcher_ops *launcher, const char *srun_args,
                      struct findings *findings);

#endif
