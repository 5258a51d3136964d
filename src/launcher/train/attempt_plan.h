/*
 * attempt_plan.h - where the next attempt runs: on what the launcher gave, less the
 * nodes that are lost and those that are kept for later.
 *
 * An allocation does not grow: its launcher is asked once. A node that was lost comes
 * back when it answers again, but not for the third time: it is not to be trusted. What
 * this process may use of its own machine can change, and is asked for anew.
 */
#ifndef RAYTRAIN_TRAIN_ATTEMPT_PLAN_H
#define RAYTRAIN_TRAIN_ATTEMPT_PLAN_H

#include <stdbool.h>

#include "launch/launcher.h"

struct attempt_planner;

/* scaling must outlive it. RAYTRAIN_EFIT / RAYTRAIN_ENOTSUP, as launcher.h's resources.
 */
int attempt_planner_create(const struct launcher_ops *launcher,
                           const struct scaling_config *scaling,
                           struct attempt_planner **out, struct error *err);
void attempt_planner_destroy(struct attempt_planner *p); /* NULL is fine */

/*
 * A plan for the next attempt; the caller clears it. spare_nodes stay free as long as
 * no node is lost: each lost one sets one of them free. RAYTRAIN_EFIT says what is
 * asked for and what there is, and which nodes are lost.
 */
int attempt_planner_plan(const struct attempt_planner *p, struct placement *plan,
                         struct error *err);
/* Before a plan for another attempt: what there is may have changed. -1 as create. */
int attempt_planner_refresh(struct attempt_planner *p, struct error *err);
/* Would an elastic group be larger than this one now? */
bool attempt_planner_can_grow(const struct attempt_planner *p, int workers);

/* A node is lost; what is not known is passed over. */
void attempt_planner_lose(struct attempt_planner *p, const char *node);
/* A lost node answers again: true where it is used again from now on. */
bool attempt_planner_regain(struct attempt_planner *p, const char *node);
bool attempt_planner_is_lost(const struct attempt_planner *p, const char *node);
/* Was a node lost in the time of this planner, back or not? */
bool attempt_planner_had_losses(const struct attempt_planner *p);
/* All that are not lost: a NULL-terminated array that the caller frees, of borrowed
 * names; NULL without memory. */
char **attempt_planner_present(const struct attempt_planner *p);
/* Those that are lost and may come back, at most max of them; borrowed names. */
size_t attempt_planner_awaited(const struct attempt_planner *p, char **names,
                               size_t max);
/* "n[2-3]": all lost ones; malloc'ed, NULL without memory or where there are none. */
char *attempt_planner_lost_names(const struct attempt_planner *p);

#endif
