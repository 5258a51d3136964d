/*
 * run_state.h - the state of a running run, for a display: attempts, iterations and
 * their pace, metrics, checkpoints, the last event. It reads neither clocks nor files:
 * the caller passes the time (clock_now()).
 *
 * To add a line to the progress display: keep here what it shows, write it in block.c
 * by the functions of page.h, which cut lines to the width of the terminal, and add it
 * to the expected blocks in t/unit/test_view.c.
 */
#ifndef RAYTRAIN_VIEW_RUN_STATE_H
#define RAYTRAIN_VIEW_RUN_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/train_config.h"
#include "view/metric_view.h"

#define RUN_STATE_PACE  32  /* iterations whose mean duration is the pace */
#define RUN_STATE_EVENT 512 /* bytes of the last event that are kept */
#define RUN_STATE_LIVE  1024

/* The iteration with which the run ends, if known: from its stop criteria, from its
 * training function (raytrain_set_total()), and from the stop criteria of an
 * attempt. */
enum run_state_end { END_STOP, END_TOTAL, END_RESTORE, RUN_STATE_ENDS };

/* The time that the latest iterations took. */
struct run_pace {
    double seconds[RUN_STATE_PACE];
    size_t seen; /* in this attempt */
};

/* A prediction counts rows in place of iterations. */
struct run_rows {
    int64_t done, total; /* total 0: not known */
    double left_s;
};

struct run_state {
    const struct train_config *cfg;
    double started;

    /* The attempt, from its start to the start of the next one. */
    bool has_attempt, running;
    int attempt, workers;
    size_t nodes;
    char launcher[32];
    int attempts, failures, restarts; /* of this raytrain-run */

    int64_t iteration; /* 0: none */
    int64_t ends[RUN_STATE_ENDS];
    double total_s;        /* from the last report */
    double limit_s;        /* for total_s; 0: none */
    int64_t since_restore; /* the limit of iterations in an attempt; 0: none */
    double reported;       /* when the last report came; 0: not in this attempt */
    struct run_pace pace;
    bool predicts;
    struct run_rows rows;

    struct metric_view **metrics;
    size_t n_metrics, metrics_room;
    json_t *metric_index; /* a metric's number by name */

    /* GPUs: means over all ranks, from the last report. Utilisation in percent, NaN:
     * not known; memory in bytes; total 0: nothing is known. */
    double gpu_utilization, gpu_memory_used, gpu_memory_total;

    int64_t newest, saving; /* iterations of checkpoints; 0: none */
    double newest_at, saving_at;
    uint64_t newest_bytes; /* 0: not known */

    char live[RUN_STATE_LIVE]; /* the line that a worker is replacing; "": none */

    char event[RUN_STATE_EVENT]; /* its first line; "": none */
    double event_at;
};

void run_state_init(struct run_state *v, const struct train_config *cfg, double now);
void run_state_clear(struct run_state *v);

/* The arguments are those of the callbacks (callback/callback.h). */
void run_state_attempt_start(struct run_state *v, const json_t *attempt, double now);
/* A report of an iteration that is not later than the last one takes back the reports
 * from that iteration on. Reports of earlier launchers have the time 0. */
void run_state_report(struct run_state *v, const json_t *report, double now);
/* raytrain_set_total(); 0: not known any more. */
void run_state_total(struct run_state *v, int64_t iterations);
void run_state_note(struct run_state *v, const char *text, double now);
void run_state_attempt_end(struct run_state *v, const json_t *attempt, double now);
/* NULL: nothing. */
void run_state_live(struct run_state *v, const char *line);
/* The checkpoint is saved: its file has its final name. */
void run_state_saved(struct run_state *v, int64_t iteration, uint64_t bytes,
                     double now);

/* The iteration with which the run ends; 0: not known. */
int64_t run_state_last(const struct run_state *v);
/* The mean seconds of an iteration; NaN: not known. */
double run_state_pace(const struct run_state *v);
/* The seconds until the run ends by its stop criteria; NaN: not known. It is not known
 * after the first iteration of an attempt, which includes the start. */
double run_state_remaining(const struct run_state *v, double now);
/* The fraction that is done, 0 to 1; NaN: not known. */
double run_state_fraction(const struct run_state *v);
/* The last rate that was reported, such as samples/s: a metric "..._per_s". NULL: none.
 * The unit is the metric's. */
const struct metric_view *run_state_rate(const struct run_state *v,
                                         char unit[METRIC_TEXT]);
/* Does this metric have its own line? Rates and the metrics of GPUs do not. */
bool run_state_has_line(const struct run_state *v, const struct metric_view *m);
/* Is this metric such a rate? */
bool run_state_is_rate(const struct metric_view *m);

#endif
