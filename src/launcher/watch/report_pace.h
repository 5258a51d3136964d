/*
 * report_pace.h - how long it takes from one report to the next, as far as an attempt's
 * latest reports show. The first one is left out: starting up is in its time.
 */
#ifndef RAYTRAIN_WATCH_REPORT_PACE_H
#define RAYTRAIN_WATCH_REPORT_PACE_H

#define REPORT_PACE_RECENT 10

/* {0} is an attempt without a report. */
struct report_pace {
    double recent[REPORT_PACE_RECENT];
    unsigned seen; /* reports of this attempt, the first included */
};

/* A report came so many seconds after the one before it. */
void report_pace_add(struct report_pace *pace, double seconds);
/* The longest of the latest REPORT_PACE_RECENT; 0: there is none yet. */
double report_pace_longest(const struct report_pace *pace);

#endif
