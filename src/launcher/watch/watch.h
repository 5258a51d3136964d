/*
 * watch.h - the seam for who looks at a running attempt from the side: for a hang, a
 * lost node, the end of the allocation, a stop that takes too long.
 *
 * The BackendExecutor makes one of each kind when an attempt starts, asks them all a
 * few times a second, and acts on what they find: a watch itself neither stops nor ends
 * anything. All calls come from the executor's thread; none may block.
 */
#ifndef RAYTRAIN_WATCH_WATCH_H
#define RAYTRAIN_WATCH_WATCH_H

#include "callback/callback.h"
#include "train/stop_request.h"
#include "train/worker_group.h"
#include "watch/report_pace.h"

/* Why an attempt ended, where the workers' own statuses do not tell. */
enum attempt_cause {
    CAUSE_WORKER, /* a worker failed, or none did */
    CAUSE_OOM,
    CAUSE_HANG,
    CAUSE_START, /* the workers did not come together */
    CAUSE_NODE_LOST,
    CAUSE_TIME_LIMIT,
    CAUSE_PREEMPTED,
    CAUSE_RESIZE,
    CAUSE_SIGNAL /* somebody asked for a stop */
};

/* The word for records: "worker", "oom", "hang", "start", "node_lost", "time_limit",
 * "preempted", "resize", "signal". */
const char *attempt_cause_name(enum attempt_cause cause);

/* The running attempt, as a watch sees it. */
struct watch_view {
    const struct worker_group_spec *spec;
    struct worker_group *group;
    struct callback_list *callbacks; /* for notes */
    const char *log_dir;
    const struct stop_request *stop; /* what the user or the batch system asked for */
    bool stopping;                   /* the workers were asked to stop */
    bool joined;                     /* all workers have come together */
    double now, started;             /* clock_now() */
    double failing;     /* when a worker was first heard to have failed; 0: none has */
    double unix_now;                 /* the same as now, as Unix time */
    double last_report; /* when this attempt's latest report was heard of; 0: none */
    struct report_pace pace;
    double save_max_s; /* the longest save in the background so far */
};

enum watch_verdict {
    WATCH_GOES_ON,
    WATCH_STOP, /* ask the workers to stop at their next report (once) */
    WATCH_END   /* end the attempt now: it has failed, or is not to go on */
};

struct watch_finding {
    enum attempt_cause cause;
    int rank;                     /* that is to blame; -1: none */
    char host[256];               /* its node, or the node itself; "": unknown */
    char message[ERROR_TEXT_MAX]; /* one sentence, for the user */
};

struct watch_ops {
    const char *name;
    /* *state NULL: there is nothing to watch in this attempt, and no other slot is
     * called. */
    int (*create)(const struct watch_view *view, void **state, struct error *err);
    /* Anything new? finding is filled for all verdicts but WATCH_GOES_ON. After
     * WATCH_STOP it goes on being asked, after WATCH_END it does not. */
    enum watch_verdict (*tick)(void *state, const struct watch_view *view,
                               struct watch_finding *finding);
    void (*destroy)(void *state);
};

/* All watches of an attempt. */
struct watch_set;
int watch_set_create(const struct watch_view *view, struct watch_set **out,
                     struct error *err);
/* Ask them in the order of the table; the first verdict that is not WATCH_GOES_ON. */
enum watch_verdict watch_set_tick(struct watch_set *set, const struct watch_view *view,
                                  struct watch_finding *finding);
void watch_set_destroy(struct watch_set *set); /* NULL is fine */

#endif
