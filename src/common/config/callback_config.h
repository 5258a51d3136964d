/*
 * callback_config.h - the key `run_config.callbacks`: which callbacks receive reports
 * and events, in the order of the list.
 *
 *     callbacks = ( "csv", { type = "command"; argv = ["./notify.py"]; } );
 *
 * A string is short for a group that has only a type.
 */
#ifndef RAYTRAIN_CONFIG_CALLBACK_CONFIG_H
#define RAYTRAIN_CONFIG_CALLBACK_CONFIG_H

#include <stddef.h>
#include <stdio.h>

#include "config/config_node.h"
#include "config/registry.h"

#define CALLBACK_KIND(name) CALLBACK_##name,
enum callback_kind { CALLBACKS(CALLBACK_KIND) CALLBACK_KINDS };

/* The events that a command can get, in the order of enum callback_event
 * (event_command.c). */
#define CALLBACK_EVENTS(X)                                                             \
    X(start)                                                                           \
    X(attempt_start) X(report) X(checkpoint) X(rewind) X(note) X(attempt_end) X(end)

/* Every option of every kind. A kind uses only its own. */
struct callback_config {
    int kind; /* enum callback_kind */
    /* command: the first word is absolute if it has a slash; library: the arguments. */
    char **argv;
    size_t n_argv;
    /* prometheus: the absolute path of a file or a directory, NULL: the run directory;
     * library: that of the shared object. */
    char *path;
    int interval_s; /* prometheus */
    /* command, library */
    char **events; /* NULL: all */
    size_t n_events;
    int every;   /* reports: only iterations that are a multiple of it */
    int grace_s; /* at the end of the run */
};

/* A list of callbacks. `list` is only NULL without memory. */
struct callbacks_config {
    struct callback_config *list;
    size_t n;
};

/* "csv" */
const char *callback_kind_name(int kind);

/* The default: "json" alone. */
void callbacks_config_init(struct callbacks_config *cfg);
/* Replace the list by the checked one of the node. On failure it is unchanged. */
int callbacks_config_set(struct callbacks_config *cfg, const struct config_node *node,
                         const struct config_where *where);
/* Add a callback by its name alone, unless the list has the same one already. Messages
 * begin with `source`. */
int callbacks_config_add(struct callbacks_config *cfg, const char *name,
                         const char *source, struct error *err);
/* Write the list as a setting of this name, which reads back the same. */
void callbacks_config_render(const struct callbacks_config *cfg, const char *name,
                             FILE *out, int depth);
void callbacks_config_clear(struct callbacks_config *cfg);

#endif
