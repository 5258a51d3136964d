#include "watch/watch.h"

#include <stdlib.h>

#include "watch/grace.h"
#include "watch/hang.h"
#include "watch/node_liveness.h"
#include "watch/resize.h"
#include "watch/start.h"
#include "watch/time_limit.h"

/* A watch is a file of its own; here is where it gets asked. */
static const struct watch_ops *const watches[] = {
    &node_watch, &start_watch,  &time_watch, &grace_watch,
    &hang_watch, &resize_watch, NULL};

#define N_WATCHES (sizeof watches / sizeof watches[0] - 1)

struct watch_set {
    void *states[N_WATCHES + 1];
};

const char *attempt_cause_name(enum attempt_cause cause)
{
    static const char *const names[] = {"worker",    "oom",       "hang",
                                        "start",     "node_lost", "time_limit",
                                        "preempted", "resize",    "signal"};

    return names[cause];
}

int watch_set_create(const struct watch_view *view, struct watch_set **out,
                     struct error *err)
{
    struct watch_set *set = calloc(1, sizeof *set);

    if (!set)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; watches[i]; i++) {
        if (watches[i]->create(view, &set->states[i], err) < 0) {
            watch_set_destroy(set);
            return -1;
        }
    }
    *out = set;
    return 0;
}

enum watch_verdict watch_set_tick(struct watch_set *set, const struct watch_view *view,
                                  struct watch_finding *finding)
{
    for (size_t i = 0; watches[i]; i++) {
        enum watch_verdict verdict = WATCH_GOES_ON;

        *finding = (struct watch_finding){.rank = -1};
        if (set->states[i])
            verdict = watches[i]->tick(set->states[i], view, finding);
        if (verdict != WATCH_GOES_ON)
            return verdict;
    }
    return WATCH_GOES_ON;
}

void watch_set_destroy(struct watch_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; watches[i]; i++) {
        if (set->states[i])
            watches[i]->destroy(set->states[i]);
    }
    free(set);
}
