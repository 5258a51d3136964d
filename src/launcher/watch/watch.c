/* watch.c - the table of observers, and the pace of reports. */
#include "watch/watch.h"

#include <math.h>
#include <stdlib.h>

/* In the order in which they are called. */
static const struct watch_ops *const watches[] = {
    &node_watch,  &start_watch, &time_watch,   &preemption_watch,
    &grace_watch, &hang_watch,  &resize_watch, NULL};

#define N_WATCHES (sizeof watches / sizeof watches[0] - 1)

struct watch_set {
    void *states[N_WATCHES + 1];
};

int watch_set_create(const struct watch_view *view, struct watch_set **out,
                     struct error *err)
{
    struct watch_set *set = calloc(1, sizeof *set);

    if (!set)
        return error_no_memory(err);
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
                                  struct failure *finding)
{
    for (size_t i = 0; watches[i]; i++) {
        enum watch_verdict verdict = WATCH_GOES_ON;

        *finding = (struct failure){.rank = -1};
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

/* ---- The pace of reports ---- */

void report_pace_add(struct report_pace *pace, double seconds)
{
    if (pace->seen > 0)
        pace->recent[pace->seen % REPORT_PACE_RECENT] = seconds;
    pace->seen++;
}

double report_pace_longest(const struct report_pace *pace)
{
    double longest = 0;

    for (int i = 0; i < REPORT_PACE_RECENT; i++)
        longest = fmax(longest, pace->recent[i]);
    return longest;
}
