/*
 * callback.h - the interface of event sinks in the launcher, one per file. A callback
 * never fails the run, and never delays it: it reports its own failure once, and
 * continues without the part that failed. Work that may wait for storage is done by
 * another thread (deferred.h).
 *
 * All calls come from the launcher's thread.
 *
 * To add one: write a file that defines a `struct callback_ops`; only create() is
 * required. It prints through an outlet (event/outlet.h), because a terminal may be
 * paused, and waits by adding a descriptor to the event loop. The reports of earlier
 * launchers, if it needs them, are in result.json at the first attempt. Add its name to
 * CALLBACKS (config/registry.h), the table of its settings, table_of_NAME, to
 * config/callback_config.c, and describe it in raytrain.cfg(5).
 */
#ifndef RAYTRAIN_CALLBACK_CALLBACK_H
#define RAYTRAIN_CALLBACK_CALLBACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "config/registry.h"
#include "event/event_loop.h"
#include "run/logged_report.h"

struct callback;

/* The arguments of create(); all of it outlives the callback. */
struct callback_context {
    const struct train_config *cfg;
    const struct options *opt;
    const char *run_dir;
    /* The callback's own settings; NULL: it has none. */
    const struct callback_config *config;
    struct callback_list *list; /* for callback_note() */
    bool finished;              /* the run had finished before: only on_end follows */
    /* Runs until the run has ended: a callback with a child, a pipe or a socket adds
     * its descriptor, and removes it in destroy. Its handlers always return 0: -1 would
     * end the run. */
    struct event_loop *loop;
};

struct callback_ops {
    /* It passes events on to others. It is left out if the run had finished before,
     * since they have had the events. */
    bool passes_on;
    /* Called once, before all others; cb may move in memory afterwards, cb->impl does
     * not. -1 rejects the configuration. */
    int (*create)(struct callback *cb, const struct callback_context *context,
                  struct error *err);
    /* All other slots may be NULL. */

    /* The record of an attempt (run/attempts.h) at its start. */
    void (*on_attempt_start)(struct callback *cb, const json_t *attempt);
    /* Reports of earlier launchers are in result.json, which is complete from the first
     * on_attempt_start or on_end.
     *
     * The next report is of an iteration after `iteration`, but later ones were
     * reported before: an attempt continued from an earlier checkpoint. Those reports
     * no longer count. */
    void (*on_rewind)(struct callback *cb, int64_t iteration);
    /* A line of result.json. */
    void (*on_report)(struct callback *cb, const json_t *report);
    /* In place of on_report if the workers have gathered their reports: with an array
     * of one per worker. */
    void (*on_worker_reports)(struct callback *cb, const json_t *report,
                              const json_t *workers);
    /* The training function has declared its number of iterations; 0: no longer
     * known. */
    void (*on_total)(struct callback *cb, int64_t iterations);
    /* Output of a worker was printed. line: the one that it keeps replacing, such as a
     * progress bar; NULL: none. */
    void (*on_live)(struct callback *cb, const char *line);
    /* A message for the user, without a final newline. */
    void (*on_note)(struct callback *cb, const char *text);
    /* Has it failed, and therefore asked the run to stop? Then text says how. */
    bool (*failed)(struct callback *cb, char *text, size_t size);
    /* The complete record of an attempt. */
    void (*on_attempt_end)(struct callback *cb, const json_t *attempt);
    /* The Result (train/result.h). */
    void (*on_end)(struct callback *cb, const json_t *result);
    void (*destroy)(struct callback *cb);
};

struct callback {
    const struct callback_ops *ops;
    void *impl;
};

/* The callbacks of one run; each event goes to all of them, in this order. */
struct callback_list {
    struct callback *callbacks;
    size_t n;
    bool reported;         /* there was a report */
    int64_t last_reported; /* its iteration */
};

/* The progress display, or only messages, and the callbacks of run_config.callbacks. On
 * failure the list is empty. */
int callback_list_create(struct callback_list *list,
                         const struct callback_context *context, struct error *err);
/* Append another callback. */
int callback_list_add(struct callback_list *list, const struct callback_ops *ops,
                      const struct callback_context *context, struct error *err);
void callback_list_destroy(struct callback_list *list);

/* An earlier launcher has passed on reports up to this iteration. */
void callback_list_continue(struct callback_list *list, int64_t iteration);

void callback_attempt_start(struct callback_list *list, const json_t *attempt);
/* Calls on_rewind first if the report's iteration is not later than the previous
 * one. */
void callback_report(struct callback_list *list, struct logged_report *report);
void callback_total(struct callback_list *list, int64_t iterations);
/* Also used by callbacks about themselves: "csv: cannot ...". list may be NULL. */
void callback_note(struct callback_list *list, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void callback_live(struct callback_list *list, const char *line);
/* Will a progress block be drawn? */
bool callback_draws(const struct options *opt);
/* Has a callback ended the run because it has failed? */
bool callback_failed(const struct callback_list *list, char *text, size_t size);
void callback_attempt_end(struct callback_list *list, const json_t *attempt);
void callback_end(struct callback_list *list, const json_t *result);

/* Where fit() of the Python module expects the events. */
#define CALLBACK_FIT_VARIABLE "RAYTRAIN_FIT_EVENTS"
/* Where fit() writes that a method of a UserCallback has failed, before it asks to
 * stop. */
#define CALLBACK_FIT_FAILURE_VARIABLE "RAYTRAIN_FIT_FAILURE"

/* In progress.c: the answer for callback_draws() if the display is on. */
bool progress_draws(const struct options *opt);

extern const struct callback_ops callback_progress, callback_notes, callback_fit_events;

#define CALLBACK_DECLARE(name) extern const struct callback_ops callback_##name;
CALLBACKS(CALLBACK_DECLARE)
#undef CALLBACK_DECLARE

#endif
