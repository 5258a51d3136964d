/* kept_group.c - a group between two attempts, and plans compared. */
#include "train/kept_group.h"

#include <string.h>

#include "util/clock.h"

#define SHOWN_WAIT_S 2.0 /* for a terminal that has not accepted all output */

void kept_group_put(struct kept_group *k, struct worker_group *group,
                    struct shown *shown, const struct placement *plan,
                    struct event_loop *loop)
{
    k->loop = loop;
    k->group = group;
    k->shown = shown;
    if (placement_copy(plan, &k->plan, NULL) < 0)
        kept_group_clear(k);
}

static bool is_same_plan(const struct placement *a, const struct placement *b)
{
    bool same = a->workers == b->workers && a->n_nodes == b->n_nodes &&
                a->cpus_per_worker == b->cpus_per_worker &&
                a->gpus_per_worker == b->gpus_per_worker &&
                a->workers_per_gpu == b->workers_per_gpu &&
                a->memory_per_worker == b->memory_per_worker;

    for (size_t i = 0; same && i < a->n_nodes; i++)
        same = a->nodes[i].tasks == b->nodes[i].tasks &&
               strcmp(a->nodes[i].name, b->nodes[i].name) == 0;
    return same;
}

bool kept_group_take(struct kept_group *k, const struct placement *plan,
                     struct worker_group **group, struct shown **shown)
{
    if (!k->group || !is_same_plan(&k->plan, plan)) {
        kept_group_clear(k);
        return false;
    }
    *group = k->group;
    *shown = k->shown;
    placement_clear(&k->plan);
    *k = (struct kept_group){0};
    return true;
}

static void output_finish(struct kept_group *k)
{
    double until = clock_now() + SHOWN_WAIT_S, left;

    shown_finish(k->shown);
    while (!shown_is_read(k->shown) && (left = until - clock_now()) > 0)
        if (event_loop_turn(k->loop, left, NULL) < 0)
            break;
}

void kept_group_clear(struct kept_group *k)
{
    worker_group_destroy(k->group);
    output_finish(k);
    shown_destroy(k->shown);
    placement_clear(&k->plan);
    *k = (struct kept_group){0};
}
