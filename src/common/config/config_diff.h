/* config_diff.h - the differences between two configurations, as in run.cfg. */
#ifndef RAYTRAIN_CONFIG_CONFIG_DIFF_H
#define RAYTRAIN_CONFIG_CONFIG_DIFF_H

#include <stddef.h>

#include "util/error.h"

struct config_change {
    char *key;          /* "run_config.name" */
    /* As they are written, cut if they are long; NULL: not set. */
    char *before, *now;
};

struct config_changes {
    struct config_change *list;
    size_t n;
};

/*
 * Compare two texts of libconfig, value by value, in the order of `now`. Values that
 * only `before` has come last in their group. Keys that this version does not know are
 * compared, too. train_func_kind is not, since it depends on the file alone.
 * RAYTRAIN_EINVAL: one of the texts is not a configuration.
 */
int config_diff(const char *before, const char *now, struct config_changes *changes,
                struct error *err);
void config_changes_clear(struct config_changes *changes);

/* The string at a top-level key of a configuration, malloc'ed. NULL: it is not set, or
 * the text is not a configuration. */
char *config_string_of(const char *text, const char *name);

#endif
