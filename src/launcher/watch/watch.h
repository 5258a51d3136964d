/*
 * watch.h - the interface for observers of a running attempt: for a hang, a lost node,
 * the end of the allocation, a stop that takes too long.
 *
 * An attempt creates one of each kind when it starts, calls them all a few times a
 * second, and acts on their findings: an observer itself does not stop or kill
 * anything. All calls come from the thread of the attempt; none may block.
 *
 * To add one: write a file that defines a `struct watch_ops`, declare that below, and
 * add it to the table in watch.c. create() returns no state if there is nothing to
 * observe. A new reason for an end is a cause in protocol/failure.h, and a case in
 * train/restart_policy.c.
 */
#ifndef RAYTRAIN_WATCH_WATCH_H
#define RAYTRAIN_WATCH_WATCH_H

#include "callback/callback.h"
#include "config/train_config.h"
#include "launch/attempt_plan.h"
#include "launch/batch_system.h"
#include "protocol/failure.h"
#include "protocol/rank_status.h"

/* ---- The pace of reports ---- */

#define REPORT_PACE_RECENT 10

/* The time from one report to the next, for the latest reports of an attempt. The first
 * one is left out: it includes the start-up. {0} is an attempt without a report. */
struct report_pace {
    double recent[REPORT_PACE_RECENT];
    unsigned seen; /* reports of this attempt, the first included */
};

/* A report arrived `seconds` after the previous one. */
void report_pace_add(struct report_pace *pace, double seconds);
/* The longest of the latest REPORT_PACE_RECENT times; 0: none yet. */
double report_pace_longest(const struct report_pace *pace);

/* ---- An observer ---- */

struct worker_group;

/* The running attempt, as an observer sees it. */
struct watch_view {
    const struct train_config *cfg;
    const struct launcher_ops *launcher;
    const struct batch_ops *batch; /* whose job this process runs in; NULL: in none */
    const struct placement *plan;
    struct attempt_planner *planner; /* notified of nodes that are lost, or back */
    struct worker_group *group;
    /* Send every worker of group that has started this signal. */
    int (*signal)(struct worker_group *group, int sig, struct error *err);
    struct callback_list *callbacks; /* for notes */
    const char *log_dir;
    bool stopping;        /* the workers were asked to stop */
    int requests;         /* to stop, from outside: each restarts their time */
    bool joined;          /* all workers have come together */
    double now, started;  /* clock_now() */
    double failing;       /* when the first failure of a worker was seen; 0: none */
    double unix_now;      /* the same as now, as Unix time */
    double last_report;   /* when this attempt's latest report arrived; 0: none */
    double last_progress; /* likewise, of EVENT_PROGRESS */
    struct report_pace pace;
    double save_max_s; /* the longest background save so far */
};

enum watch_verdict {
    WATCH_GOES_ON,
    WATCH_STOP, /* ask the workers to stop at their next report (once) */
    WATCH_END   /* kill the workers now: the attempt has failed, or must end */
};

struct watch_ops {
    const char *name;
    /* *state NULL: there is nothing to observe in this attempt, and no other slot is
     * called. */
    int (*create)(const struct watch_view *view, void **state, struct error *err);
    /* Look at the attempt. For all verdicts but WATCH_GOES_ON, the cause and message of
     * finding are filled, and its rank and host if they are known. After WATCH_STOP
     * tick() is still called, after WATCH_END it is not. */
    enum watch_verdict (*tick)(void *state, const struct watch_view *view,
                               struct failure *finding);
    void (*destroy)(void *state);
};

/* Each has its own file, except time and grace (stop_limits.c). */
extern const struct watch_ops node_watch;   /* is every node alive? */
extern const struct watch_ops start_watch;  /* do the workers come together? */
extern const struct watch_ops time_watch;   /* the end of the allocation */
extern const struct watch_ops grace_watch;  /* a stop that takes too long */
extern const struct watch_ops preemption_watch; /* is the job preempted? */
extern const struct watch_ops hang_watch;   /* do reports still arrive? */
extern const struct watch_ops resize_watch; /* could an elastic group be larger? */

/* The time that workers have to answer when they are asked for their stacks. */
#define STACK_ANSWER_S 2.0

/* In hang.c, a pure function: the ranks' answers as one sentence; returns the rank to
 * blame, -1 if all have got equally far. */
int hang_sentence(const struct rank_status at[], int size, double quiet_s, char *out,
                  size_t out_max);

/* ---- All observers of an attempt ---- */

struct watch_set;
int watch_set_create(const struct watch_view *view, struct watch_set **out,
                     struct error *err);
/* Call them in the order of the table; the first verdict that is not WATCH_GOES_ON. */
enum watch_verdict watch_set_tick(struct watch_set *set, const struct watch_view *view,
                                  struct failure *finding);
void watch_set_destroy(struct watch_set *set); /* NULL is fine */

#endif
