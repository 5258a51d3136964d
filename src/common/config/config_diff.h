/* config_diff.h - what differs between two configurations, as run.cfg holds them. */
#ifndef RAYTRAIN_CONFIG_CONFIG_DIFF_H
#define RAYTRAIN_CONFIG_CONFIG_DIFF_H

#include <stddef.h>

#include "util/error.h"

struct config_change {
    char *key;          /* "run_config.name" */
    char *before, *now; /* as they are written, long values cut short; NULL: not set */
};

struct config_changes {
    struct config_change *list;
    size_t n;
};

/*
 * Compare two texts of libconfig, value by value, in the order of `now`; what is only
 * in `before` comes last in its group. What this version does not know is compared,
 * too. train_func_kind is not: it follows from the file. RAYTRAIN_EINVAL: one of the
 * texts is no configuration.
 */
int config_diff(const char *before, const char *now, struct config_changes *changes,
                struct error *err);
void config_changes_clear(struct config_changes *changes);

/* The string that a configuration holds under a name at its top level, malloc'ed; NULL:
 * there is none, or the text is no configuration. */
char *config_string_of(const char *text, const char *name);

#endif
