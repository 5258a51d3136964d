/*
 * config_node.h - a piece of configuration as it was written: a tree of values with the
 * lines they came from. Files, --set and flags all become such a tree before anything
 * is known about their meaning.
 */
#ifndef RAYTRAIN_CONFIG_CONFIG_NODE_H
#define RAYTRAIN_CONFIG_CONFIG_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Groups and arrays nested deeper than this are refused, so that recursion is safe. */
#define CONFIG_DEPTH_MAX 64

enum config_node_type {
    NODE_GROUP,
    NODE_ARRAY, /* libconfig's arrays and lists alike */
    NODE_INT,
    NODE_REAL,
    NODE_BOOL,
    NODE_STRING
};

struct config_node {
    enum config_node_type type;
    char *name; /* NULL within arrays and for the root */
    int line;   /* 0: not from a file */
    /* A number or truth value that was typed on the command line, as it was typed: keys
     * that hold a string take this. NULL from files. */
    char *raw;
    int64_t integer;
    double real;
    bool boolean;
    char *string;
    struct config_node *items; /* of a group (named) or an array */
    size_t n_items;
};

/* Where a node stands: for messages. A chain on the stack, innermost first. */
struct config_where {
    const char *source; /* a file's name, "--set", "--workers" */
    const struct config_where *up;
    const char *name; /* NULL at the root */
    struct error *err;
};

/* "SOURCE:LINE: KEY: ..." into where->err. Always -1. */
int config_fail(const struct config_where *where, const struct config_node *node,
                raytrain_status code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int config_fail_memory(const struct config_where *where);

#define NODE_TEXT_MAX 160
/* What there is, for "expected ..., found ...": `the string "yes"`, `a group`. */
char *config_node_describe(const struct config_node *node, char text[NODE_TEXT_MAX]);

/* Add one to the items of a group or array: zeroed, named (NULL: not). NULL without
 * memory. The pointer is good until the next one is added. */
struct config_node *config_node_add(struct config_node *parent, const char *name);
/* Everything below, not the node itself. */
void config_node_clear(struct config_node *node);

/* A new reference: integers stay integers, reals reals. NULL and where->err filled for
 * strings that are not UTF-8. */
json_t *config_node_json(const struct config_node *node,
                         const struct config_where *where);

#endif
