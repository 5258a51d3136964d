/* config_file.h - libconfig text to a tree of nodes. The only code that uses
 * libconfig. */
#ifndef RAYTRAIN_CONFIG_CONFIG_FILE_H
#define RAYTRAIN_CONFIG_CONFIG_FILE_H

#include "config/config_node.h"

/*
 * Parse the whole text, which messages call `source`. Syntax errors, duplicate keys,
 * numbers that exceed 64 bits or a double, bytes of value 0 in a string, @include, and
 * nesting beyond CONFIG_DEPTH_MAX are RAYTRAIN_EINVAL with source:line. *root becomes a
 * group, for config_node_clear(); on failure there is nothing to clear.
 */
int config_file_parse(const char *text, const char *source, struct config_node *root,
                      struct error *err);

/*
 * Parse the text after the '=' of a --set: a libconfig value, or else a bare word,
 * which is a string. Text that begins like a quoted string, list or group must be one.
 * `value` must be zeroed, except for its name.
 */
int config_file_parse_value(const char *text, struct config_node *value,
                            const struct config_where *where);

/* Is this a valid name of a setting? ([A-Za-z*][A-Za-z0-9_*-]* ) */
bool config_file_is_name(const char *name);

#endif
