/*
 * hang.h - the watch for attempts in which nothing happens any more.
 *
 * A hang is hang_timeout_s seconds without a report, from the start of the workers on:
 * start-up, restoring, training and saving all count, for each of them can hang. Then
 * every worker is asked for its stack and for the collective call that it has come to.
 * Those that do not answer within HANG_ANSWER_S, and those that are behind the others,
 * are to blame. A report that comes while they are asked ends the alarm.
 *
 * Time is counted from tick to tick, at most HANG_TICK_MAX_S each: that in which this
 * process was stopped itself, as when Slurm suspends a job, is nobody's silence.
 */
#ifndef RAYTRAIN_WATCH_HANG_H
#define RAYTRAIN_WATCH_HANG_H

#include "protocol/whereabouts.h"
#include "watch/watch.h"

#define HANG_ANSWER_S   2.0
#define HANG_TICK_MAX_S 1.0

extern const struct watch_ops hang_watch;

/* Pure: what the ranks have answered, in one sentence; returns the one to blame, -1
 * where they have all come equally far. */
int hang_sentence(const struct whereabouts at[], int size, double quiet_s, char *out,
                  size_t out_max);

#endif
