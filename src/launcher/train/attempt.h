/*
 * attempt.h - one attempt of a run: a WorkerGroup is started, watched by an event loop
 * until every worker is gone, and judged.
 *
 *   attempt_start.c    what its workers are started with
 *   attempt.c          the event loop, the record
 *   attempt_end.c      why it ended, from the launcher, the workers' own records and
 *                      the watches
 *   attempt_verdict.c  the judgement itself, without any I/O
 *   start_obstacles.c  what kept its workers from starting, besides themselves
 */
#ifndef RAYTRAIN_TRAIN_ATTEMPT_H
#define RAYTRAIN_TRAIN_ATTEMPT_H

#include "run/metrics_collector.h"
#include "train/attempt_verdict.h"
#include "train/failure_diagnosis.h"
#include "show/shown.h"
#include "train/gpu_error.h"
#include "train/run.h"
#include "train/worker_group.h"
#include "watch/watch.h"

/* A running attempt. */
struct attempt {
    struct run *run;
    int number;
    struct metrics_collector *reports; /* borrowed */
    struct worker_group *group;
    bool same_step; /* the group was that of the attempt before */
    int fd;         /* the group's, until it is done */
    int hear_timer; /* for events of a group that hears them; -1: none */
    char *log_dir;
    json_t *record; /* attempt_record.h */
    struct watch_view view;
    struct watch_set *watches;
    struct launch_outcome outcome;
    bool done;      /* every worker is gone, and outcome is final */
    bool listening; /* all workers handle WORKER_STOP_SIGNAL */
    bool stop_sent;
    bool ended;             /* a watch has ended it */
    struct failure failure; /* why it was stopped or ended */
    struct gpu_error gpu_error;
    int stops;           /* requests to stop that it has answered */
    int64_t iteration;   /* of the last report, or where it continues from */
    enum worker_end end; /* as recorded by the workers */
    double gone;         /* when they were gone; 0: not yet */
    struct shown *shown; /* NULL: no output is shown */
};

/* The end of an attempt. */
struct attempt_end {
    enum run_status status;
    bool goes_on;           /* attempt_verdict.h */
    struct failure failure; /* why; without a message if it has finished */
    struct failure_log log; /* of RUN_FAILED */
    bool stopping;          /* the workers were asked to stop */
    bool left_together;     /* the workers reached their end, and have cleaned up */
    double seconds;         /* that it took */
    int64_t iteration;      /* of the last report, or where it continued from */
};

/* Make attempt `number` on run->plan, from iteration `from` on. -1 means that this
 * process itself cannot continue; a failed attempt returns 0 with its end. */
int attempt_run(struct run *run, int number, int64_t from,
                struct metrics_collector *reports, struct attempt_end *end,
                struct error *err);

/* attempt_start.c: make the log directory, set the environment, start the workers. */
int attempt_start(struct attempt *a, struct error *err);
/* The path of raytrain-worker. RAYTRAIN_ENOTFOUND; then path is the last place that was
 * searched. */
int attempt_worker_program(char *path, size_t size, struct error *err);
/* The command that the first attempt would run, for --dry-run: NULL-terminated; it and
 * its strings are malloc'ed. */
int attempt_command(const struct run *run, char ***argv, struct error *err);

/* attempt_end.c: every worker is gone. Fills *end. */
int attempt_conclude(struct attempt *a, struct attempt_end *end, struct error *err);

/* start_obstacles.c: for a failed attempt whose workers may not have been able to
 * start. True if the obstacle is gone, or the next attempt will avoid it. Waits for
 * Slurm's controller, and for nodes that are being prepared, until a stop is
 * requested. */
bool start_obstacles_clear(struct attempt *a);

#endif
