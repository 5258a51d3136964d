/*
 * attempt_plan.h - decides where the next attempt runs: on the resources that the
 * launcher reported, without lost nodes and spare ones.
 *
 * An allocation does not grow, so its launcher is asked once. A lost node is used again
 * when it answers, but after its second loss it is no longer trusted. The local
 * launcher is asked again before each attempt, since the part of the machine that this
 * process may use can change.
 */
#ifndef RAYTRAIN_LAUNCH_ATTEMPT_PLAN_H
#define RAYTRAIN_LAUNCH_ATTEMPT_PLAN_H

#include <stdbool.h>

#include "launch/launcher.h"

struct attempt_planner;

/* scaling must outlive it. RAYTRAIN_EFIT and RAYTRAIN_ENOTSUP as in the launcher's
 * resources(). */
int attempt_planner_create(const struct launcher_ops *launcher,
                           const struct scaling_config *scaling,
                           struct attempt_planner **out, struct error *err);
void attempt_planner_destroy(struct attempt_planner *p); /* NULL is fine */

/*
 * A plan for the next attempt; the caller clears it. The spare_nodes stay unused as
 * long as no node is lost: each lost node is replaced by one of them. RAYTRAIN_EFIT
 * says what is needed, what is available, and which nodes are lost.
 */
int attempt_planner_plan(const struct attempt_planner *p, struct placement *plan,
                         struct error *err);
/* How many nodes, besides lost and spare ones, have no worker in this plan; *n_nodes:
 * of how many. */
size_t attempt_planner_idle(const struct attempt_planner *p,
                            const struct placement *plan, size_t *n_nodes);
/* Call it before planning another attempt: the available resources may have changed.
 * Fails like create. */
int attempt_planner_refresh(struct attempt_planner *p, struct error *err);
/* Would an elastic group be larger than this one now? */
bool attempt_planner_can_grow(const struct attempt_planner *p, int workers);

/* A node is lost. Unknown names are ignored. */
void attempt_planner_lose(struct attempt_planner *p, const char *node);
/* A node that answers, but must not be used again, as if it had been lost too often.
 * false: the other nodes have no room for the workers, so it stays in use. */
bool attempt_planner_leave_out(struct attempt_planner *p, const char *node);
/* A lost node answers again. Returns true if it is used again from now on. */
bool attempt_planner_regain(struct attempt_planner *p, const char *node);
bool attempt_planner_is_lost(const struct attempt_planner *p, const char *node);
/* Has a node ever been lost, even if it has come back? */
bool attempt_planner_had_losses(const struct attempt_planner *p);
/* All nodes that are not lost: a NULL-terminated array that the caller frees, of
 * borrowed names; NULL if out of memory. */
char **attempt_planner_present(const struct attempt_planner *p);
/* Lost nodes that may be used again, at most max of them; borrowed names. */
size_t attempt_planner_awaited(const struct attempt_planner *p, char **names,
                               size_t max);
/* All lost nodes, as "n[2-3]": malloc'ed; NULL if there are none, or out of memory. */
char *attempt_planner_lost_names(const struct attempt_planner *p);

#endif
