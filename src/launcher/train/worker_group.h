/*
 * worker_group.h - all ranks of one attempt as one object: start, watch, signal, kill.
 * Under Slurm it is one step, locally a set of processes; launcher.h hides which.
 */
#ifndef RAYTRAIN_TRAIN_WORKER_GROUP_H
#define RAYTRAIN_TRAIN_WORKER_GROUP_H

#include "launch/launcher.h"
#include "run/run_lock.h"
#include "train/attempt_plan.h"

struct worker_group;

/*
 * Start attempt `attempt` of the run in run_dir on `plan`: its log directory is made,
 * the environment of worker_env.h is set, the workers are launched. cfg, opt, plan and
 * planner must outlive the group.
 */
struct worker_group_spec {
    const struct launcher_ops *launcher;
    const struct train_config *cfg;
    const struct options *opt;
    const struct placement *plan;
    struct attempt_planner *planner; /* of later plans; not needed to start a group */
    bool overlap;                    /* launcher.h */
    const char *run_dir;
    const char *config; /* the text of cfg, which each attempt keeps */
    const struct run_lock *lock; /* on run_dir; NULL: none */
    const char *marker;
    int attempt;
};
int worker_group_start(const struct worker_group_spec *spec, struct worker_group **out,
                       struct error *err);

/* The command that start would run: for --dry-run. NULL-terminated, malloc'ed. */
int worker_group_command(const struct worker_group_spec *spec, char ***argv,
                         struct error *err);

const char *worker_group_log_dir(const struct worker_group *g);
int worker_group_fd(const struct worker_group *g); /* readable: call advance */
/* Never blocks; *done once every worker is gone, outcome is final then. */
int worker_group_advance(struct worker_group *g, bool *done,
                         struct launch_outcome *outcome, struct error *err);
/* To every worker that has started. */
int worker_group_signal(struct worker_group *g, int sig, struct error *err);
int worker_group_stop(struct worker_group *g, struct error *err); /* ask */
/* Ask them to stop at their next report with a checkpoint. */
int worker_group_stop_at_checkpoint(struct worker_group *g, struct error *err);
int worker_group_kill(struct worker_group *g, struct error *err); /* now */
/* Now, and the workers on nodes that the planner calls lost are not waited for. */
int worker_group_abandon(struct worker_group *g, struct error *err);
void worker_group_destroy(struct worker_group *g); /* NULL is fine; leaves nothing */

#endif
