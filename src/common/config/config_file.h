/* config_file.h - libconfig text to a tree of nodes. The only code that sees libconfig.
 */
#ifndef RAYTRAIN_CONFIG_CONFIG_FILE_H
#define RAYTRAIN_CONFIG_CONFIG_FILE_H

#include "config/config_node.h"

/*
 * Parse the whole text, called `source` in messages. Syntax errors, keys given twice,
 * numbers beyond 64 bits or beyond a double, bytes of value 0 in a string, @include and
 * nesting beyond CONFIG_DEPTH_MAX are RAYTRAIN_EINVAL with source:line. *root is a
 * group to be cleared with config_node_clear(); on failure there is nothing to clear.
 */
int config_file_parse(const char *text, const char *source, struct config_node *root,
                      struct error *err);

/*
 * What stands behind the '=' of a --set: a libconfig value, or else a bare word, which
 * is a string. What begins like a quoted string, list or group must be one. `value` is
 * one of zeros, or named.
 */
int config_file_parse_value(const char *text, struct config_node *value,
                            const struct config_where *where);

/* Could this be the name of a setting? ([A-Za-z*][A-Za-z0-9_*-]* ) */
bool config_file_is_name(const char *name);

#endif
