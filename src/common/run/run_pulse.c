/*
 * run_pulse.c - look at the locks of runs, and again after a while if the holder is on
 * another host.
 */
#include "run/run_pulse.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define LOOK_MS 200

static void first_look(const char *path, struct run_pulse *pulse)
{
    struct run_lock_sight *sight = &pulse->sight;

    run_lock_look(path, sight);
    pulse->alive = sight->state == RUN_LOCK_HELD ||
                   (sight->state == RUN_LOCK_ELSEWHERE && sight->locked);
    pulse->awaited = sight->state == RUN_LOCK_ELSEWHERE && !sight->locked;
}

static void look_again(const char *path, struct run_pulse *pulse)
{
    struct run_lock_sight now;

    run_lock_look(path, &now);
    pulse->awaited =
        now.state == RUN_LOCK_ELSEWHERE && strcmp(now.text, pulse->sight.text) == 0;
    pulse->alive = now.state != RUN_LOCK_FREE && !pulse->awaited;
    if (!pulse->awaited)
        pulse->sight = now;
}

/* How many of them are not known yet, and for how long they have to be watched. */
static size_t all_look(char *const paths[], size_t n, struct run_pulse *pulses,
                       double *patience_s)
{
    size_t awaited = 0;

    for (size_t i = 0; i < n; i++) {
        first_look(paths[i], &pulses[i]);
        awaited += pulses[i].awaited;
        if (pulses[i].awaited && pulses[i].sight.patience_s > *patience_s)
            *patience_s = pulses[i].sight.patience_s;
    }
    return awaited;
}

struct run_pulse *run_pulse_take(char *const paths[], size_t n)
{
    struct run_pulse *pulses = calloc(n + 1, sizeof *pulses);
    double patience_s = 0, begin = clock_now();
    size_t awaited = pulses ? all_look(paths, n, pulses, &patience_s) : 0;

    while (awaited > 0 && clock_now() - begin < patience_s) {
        poll(NULL, 0, LOOK_MS);
        awaited = 0;
        for (size_t i = 0; i < n; i++) {
            if (pulses[i].awaited)
                look_again(paths[i], &pulses[i]);
            awaited += pulses[i].awaited;
        }
    }
    return pulses;
}
