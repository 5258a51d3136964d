/*
 * kept_group.h - the group of an attempt, and the channel of its output, until the next
 * attempt starts in it. One that has another plan, or does not come, ends the group.
 */
#ifndef RAYTRAIN_TRAIN_KEPT_GROUP_H
#define RAYTRAIN_TRAIN_KEPT_GROUP_H

#include "launch/placement.h"
#include "show/shown.h"
#include "train/worker_group.h"

struct kept_group {
    struct worker_group *group; /* NULL: there is none */
    struct shown *shown;        /* NULL: no output is shown */
    struct event_loop *loop;
    struct placement plan; /* a copy */
};

/* Takes over group and channel; the loop is that of the channel. Without memory they are
 * destroyed. */
void kept_group_put(struct kept_group *k, struct worker_group *group,
                    struct shown *shown, const struct placement *plan,
                    struct event_loop *loop);
/* Gives them back to an attempt with the same plan. False: there is no group, or its
 * plan is another one, and it has been destroyed. */
bool kept_group_take(struct kept_group *k, const struct placement *plan,
                     struct worker_group **group, struct shown **shown);
/* Destroys the group, if there is one, and shows what is left of its output. */
void kept_group_clear(struct kept_group *k);

#endif
