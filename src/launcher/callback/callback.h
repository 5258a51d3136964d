/*
 * callback.h - the seam of the event sinks on the launcher: one sink a file. A callback
 * never fails the run: what goes wrong inside is its own to report, once.
 */
#ifndef RAYTRAIN_CALLBACK_CALLBACK_H
#define RAYTRAIN_CALLBACK_CALLBACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/options.h"

struct callback;

struct callback_ops {
    const char *name;
    /* Once; cfg and opt live as long as the callback. -1 refuses the configuration. */
    int (*create)(struct callback *cb, const struct train_config *cfg,
                  const struct options *opt, const char *run_dir, struct error *err);
    /* All others may be NULL. */
    void (*on_attempt_start)(struct callback *cb, const json_t *attempt);
    void (*on_report)(struct callback *cb, const json_t *report);
    void (*on_note)(struct callback *cb,
                    const char *text); /* something to tell the user */
    void (*on_attempt_end)(struct callback *cb, const json_t *attempt);
    void (*on_end)(struct callback *cb, const json_t *result);
    void (*destroy)(struct callback *cb);
};

struct callback {
    const struct callback_ops *ops;
    void *impl;
};

/* The sinks of one run, told of everything in this order. */
struct callback_list {
    struct callback *callbacks;
    size_t n;
};

/* Those that the configuration and the options ask for. */
int callback_list_create(struct callback_list *list, const struct train_config *cfg,
                         const struct options *opt, const char *run_dir,
                         struct error *err);
void callback_list_destroy(struct callback_list *list);

void callback_attempt_start(struct callback_list *list, const json_t *attempt);
void callback_report(struct callback_list *list, const json_t *report);
void callback_note(struct callback_list *list, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void callback_attempt_end(struct callback_list *list, const json_t *attempt);
void callback_end(struct callback_list *list, const json_t *result);

extern const struct callback_ops callback_progress;

#endif
