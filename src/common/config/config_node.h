/*
 * config_node.h - parsed configuration: a tree of values, with the lines where they
 * are. Files, --set and flags all become such a tree, before the keys are looked up.
 */
#ifndef RAYTRAIN_CONFIG_CONFIG_NODE_H
#define RAYTRAIN_CONFIG_CONFIG_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Deeper nesting of groups and arrays is refused, so that recursion is safe. */
#define CONFIG_DEPTH_MAX 64

enum config_node_type {
    NODE_GROUP,
    NODE_ARRAY, /* libconfig's arrays and lists */
    NODE_INT,
    NODE_REAL,
    NODE_BOOL,
    NODE_STRING
};

struct config_node {
    enum config_node_type type;
    char *name; /* NULL in arrays and at the root */
    int line;   /* 0: not from a file */
    /* The text of a number or truth value from the command line, for keys that hold a
     * string. NULL from files. */
    char *raw;
    int64_t integer;
    double real;
    bool boolean;
    char *string;
    struct config_node *items; /* of a group (named) or an array */
    size_t n_items;
};

struct config_table;

/* The position of a node, for messages. A chain on the stack, innermost first. */
struct config_where {
    const char *source; /* a file's name, "--set", "--workers" */
    const struct config_where *up;
    const char *name; /* NULL at the root */
    struct error *err;
    /* To suggest a key from, if it is in the wrong group; or NULL. */
    const struct config_table *all_keys;
    /* The group for the user's own keys; NULL: there is none. */
    const char *own;
};

/* The position of the item `name` below `up`. */
static inline struct config_where config_where_below(const struct config_where *up,
                                                     const char *name)
{
    return (struct config_where){up->source, up, name, up->err, up->all_keys, up->own};
}

/* "SOURCE:LINE: KEY: ..." into where->err. Always -1. */
int config_fail(const struct config_where *where, const struct config_node *node,
                raytrain_status code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int config_fail_memory(const struct config_where *where);

#define NODE_TEXT_MAX 160
/* Describe a node for "expected ..., found ...": `the string "yes"`, `a group`. */
char *config_node_describe(const struct config_node *node, char text[NODE_TEXT_MAX]);

/* Append an item to a group or array: zeroed, with a name or NULL. NULL without memory.
 * The pointer is valid until the next item is added. */
struct config_node *config_node_add(struct config_node *parent, const char *name);
/* Clear the node and all nodes below it. Does not free the node itself. */
void config_node_clear(struct config_node *node);

/* A new reference; integers stay integers, reals stay reals. NULL, with where->err
 * filled, for strings that are not UTF-8. */
json_t *config_node_json(const struct config_node *node,
                         const struct config_where *where);

/* Put the working directory before a relative *path (malloc'ed, replaced), so
 * that paths are absolute before anything is started. Links are not resolved.
 * NULL is fine. */
int path_make_absolute(char **path, struct error *err);

/* Check that a file is a regular one that can be opened for reading. RAYTRAIN_ENOTFOUND
 * or RAYTRAIN_EINVAL, "WHAT: ..." with the path and the cause. */
int path_check_file(const char *what, const char *path, struct error *err);

#endif
