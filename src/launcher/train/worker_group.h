/*
 * worker_group.h - all ranks as one object: start, watch, signal, kill. Under Slurm it
 * is one step, locally a set of processes; launcher.h hides which.
 */
#ifndef RAYTRAIN_TRAIN_WORKER_GROUP_H
#define RAYTRAIN_TRAIN_WORKER_GROUP_H

#include "launch/attempt_plan.h"
#include "launch/launcher.h"

struct worker_group;

/*
 * Start a command on every rank of spec->plan: the workers of an attempt, or others;
 * the caller prepares their environment and the log directory. The plan and the
 * planner, which knows the lost nodes (NULL: nodes cannot be lost), must outlive the
 * group. RAYTRAIN_ENOMEM and RAYTRAIN_ECOMM of a launcher are not errors here: the
 * group ends at once, with an outcome that says so.
 */
int worker_group_start(const struct launcher_ops *launcher,
                       const struct launch_spec *spec,
                       const struct attempt_planner *planner, struct worker_group **out,
                       struct error *err);

/* Start the same command for another attempt, after an outcome that says that the group
 * stays. -1: destroy it, and start another one. */
int worker_group_again(struct worker_group *g, const struct launch_spec *spec,
                       struct error *err);
/* Does it need worker_group_hear()? */
bool worker_group_hears(const struct worker_group *g);
/* An event of its workers. */
void worker_group_hear(struct worker_group *g, const json_t *event);

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
/* Kill them now, without waiting for workers on lost nodes of the planner. */
int worker_group_abandon(struct worker_group *g, struct error *err);
void worker_group_destroy(struct worker_group *g); /* NULL is fine; leaves nothing */

#endif
