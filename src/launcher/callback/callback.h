/*
 * callback.h - the interface of event sinks in the launcher: one sink a file. A
 * callback never fails the run, and never holds it up: it reports what goes wrong
 * inside itself, once, and goes on without. What may wait for storage is done by
 * another thread (deferred.h).
 *
 * All calls come from the launcher's thread.
 *
 * To add one: write a file that defines a `struct callback_ops`; only create() must be
 * there. It prints through an outlet (event/outlet.h), because a terminal may be
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

/* What a callback is made with; all of it outlives the callback. */
struct callback_context {
    const struct train_config *cfg;
    const struct options *opt;
    const char *run_dir;
    /* Its own settings; NULL: it has none. */
    const struct callback_config *config;
    struct callback_list *list; /* for callback_note() */
    bool finished; /* the run had finished before: on_end is all that follows */
    /* Turned as long as the run goes on: a callback with a child, a pipe or a socket
     * adds its descriptor, and removes it in destroy. Its handlers return 0 whatever
     * happens: -1 would end the run. */
    struct event_loop *loop;
};

struct callback_ops {
    /* It passes events on to others: without it if the run had finished before, since
     * they have had them. */
    bool passes_on;
    /* Once, before anything else; cb may move in memory afterwards, cb->impl does not.
     * -1 refuses the configuration. */
    int (*create)(struct callback *cb, const struct callback_context *context,
                  struct error *err);
    /* All others may be NULL. */

    /* The record of an attempt (run/attempts.h), as it is at its start. */
    void (*on_attempt_start)(struct callback *cb, const json_t *attempt);
    /* Reports of earlier launchers are in result.json, complete from the first
     * on_attempt_start, or on_end, on.
     *
     * The next report is of an iteration after `iteration`, and there have been later
     * ones: an attempt went on from an earlier checkpoint. Those reports do not count
     * any more. */
    void (*on_rewind)(struct callback *cb, int64_t iteration);
    /* A line of result.json. */
    void (*on_report)(struct callback *cb, const json_t *report);
    /* In place of on_report, with an array of what each worker has reported, if the
     * workers have gathered it. */
    void (*on_worker_reports)(struct callback *cb, const json_t *report,
                              const json_t *workers);
    /* The training function has said how many iterations it is going to make; 0: it
     * does not know any more. */
    void (*on_total)(struct callback *cb, int64_t iterations);
    /* Output of a worker was printed. The line that it is replacing again and again,
     * such as a progress bar; NULL: none. */
    void (*on_live)(struct callback *cb, const char *line);
    /* A message for the user, without a newline at its end. */
    void (*on_note)(struct callback *cb, const char *text);
    /* Has it ended the run, by a request to stop, because it has failed? Then its text
     * says how. */
    bool (*failed)(struct callback *cb, char *text, size_t size);
    /* The record of an attempt, complete. */
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

/* The progress display, or messages alone, and those that run_config.callbacks names. On failure the list
 * is empty. */
int callback_list_create(struct callback_list *list,
                         const struct callback_context *context, struct error *err);
/* Another one, after those that are there. */
int callback_list_add(struct callback_list *list, const struct callback_ops *ops,
                      const struct callback_context *context, struct error *err);
void callback_list_destroy(struct callback_list *list);

/* An earlier launcher has passed on reports up to this iteration. */
void callback_list_continue(struct callback_list *list, int64_t iteration);

void callback_attempt_start(struct callback_list *list, const json_t *attempt);
/* Calls on_rewind first if the report is not of a later iteration than the one
 * before. */
void callback_report(struct callback_list *list, struct logged_report *report);
void callback_total(struct callback_list *list, int64_t iterations);
/* Also from a callback about itself, "csv: cannot ...". A list that is NULL is fine. */
void callback_note(struct callback_list *list, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void callback_live(struct callback_list *list, const char *line);
/* Will a progress block be drawn? */
bool callback_draws(const struct options *opt);
/* Has one of them ended the run because it has failed? */
bool callback_failed(const struct callback_list *list, char *text, size_t size);
void callback_attempt_end(struct callback_list *list, const json_t *attempt);
void callback_end(struct callback_list *list, const json_t *result);

/* fit() of the Python module wants the events, and this is where. */
#define CALLBACK_FIT_VARIABLE "RAYTRAIN_FIT_EVENTS"
/* Where it writes, before it asks to stop, that a method of a UserCallback has failed. */
#define CALLBACK_FIT_FAILURE_VARIABLE "RAYTRAIN_FIT_FAILURE"

/* progress.c, if it is the callback that is chosen. */
bool progress_draws(const struct options *opt);

extern const struct callback_ops callback_progress, callback_notes, callback_fit_events;

#define CALLBACK_DECLARE(name) extern const struct callback_ops callback_##name;
CALLBACKS(CALLBACK_DECLARE)
#undef CALLBACK_DECLARE

#endif
