/*
 * config_key.h - tables of the keys of the configuration. A row has the name of a key,
 * its type, its place in the struct, the allowed values, and the values that this
 * version does not support yet. Parsing, --set, flags, suggestions, refusals, rendering
 * and freeing all use these tables.
 *
 * The table of each config struct is in the file named after it; train_config.c has the
 * root.
 *
 * To add a key: add a member to the struct and a row to its table, with a line of
 * documentation, and an entry to raytrain.cfg(5), which a unit test compares with the
 * tables.
 */
#ifndef RAYTRAIN_CONFIG_CONFIG_KEY_H
#define RAYTRAIN_CONFIG_CONFIG_KEY_H

#include <stdio.h>

#include "config/config_node.h"

struct config_table;

enum config_type {
    CONFIG_INT,       /* int, min .. max; a value below min means "not set" */
    CONFIG_U64,       /* uint64_t, 0 .. INT64_MAX */
    CONFIG_SIZE,      /* uint64_t bytes: an integer or a text such as "4G" */
    CONFIG_BOOL,      /* bool */
    CONFIG_STRING,    /* char *, NULL: not set; never empty */
    CONFIG_WORD,      /* the same, one of choices */
    CONFIG_ENUM,      /* int, the index of one of choices */
    CONFIG_WORD_BOOL, /* bool: choices[0] is false, choices[1] true */
    /* char **, NULL: not set, and size_t at offset2; if there are choices, all
     * of them. */
    CONFIG_STRINGS,
    CONFIG_JSON,   /* an object (json_t *): a group with any contents */
    CONFIG_GROUP,  /* the keys of table, in the struct at offset */
    CONFIG_CUSTOM, /* handled by ops */
    CONFIG_REFUSED /* known, but refused if it is set */
};

struct config_choice {
    const char *word;
    const char *refused; /* NULL: available; else the reason */
};

/* object is the struct that the table describes. */
struct config_ops {
    int (*set)(void *object, const struct config_node *node,
               const struct config_where *where);
    /* Writes whole settings with their names, each line indented. Nothing if the value
     * is not set. */
    void (*render)(const void *object, const char *name, FILE *out, int depth);
    int (*check)(const void *object, const struct config_where *where); /* or NULL */
    void (*clear)(void *object);                                        /* or NULL */
};

struct config_key {
    const char *name;
    const char *doc; /* one line, for messages about wrong values */
    enum config_type type;
    size_t offset, offset2;
    int64_t min, max;
    const struct config_choice *choices; /* terminated by a NULL word */
    const struct config_table *table;
    const struct config_ops *ops;
    /* Why every value except 0, false and "not set" is refused; NULL: the key is
     * available. */
    const char *refused;
};

struct config_table {
    const struct config_key *keys;
    size_t n_keys;
};

#define CONFIG_LATER "is not available in this version"

#define CONFIG_TABLE(rows)                                                             \
    {                                                                                  \
        rows, sizeof(rows) / sizeof((rows)[0])                                         \
    }

/* Merge a group into object. On failure some keys may have been set; clear it as
 * usual. */
int config_apply(const struct config_table *table, void *object,
                 const struct config_node *group, const struct config_where *where);
/* Refuse values that are not available yet: RAYTRAIN_ENOTSUP. */
int config_check(const struct config_table *table, const void *object,
                 const struct config_where *where);
/* Free the values of the keys. Pointers become NULL. */
void config_clear(const struct config_table *table, void *object);

/* Print a line or two for each key, including those in groups: the whole name, which
 * begins with prefix, and its documentation; at most 80 columns (config_list.c). */
void config_list(const struct config_table *table, const char *prefix, FILE *out);

/* Render as libconfig text (config_render.c). */
void config_render(const struct config_table *table, const void *object, FILE *out,
                   int depth);
void config_render_name(FILE *out, int depth, const char *name); /* "    name = " */
void config_render_string(FILE *out, const char *s);             /* quoted, escaped */
void config_render_strings(FILE *out, char *const *strings, size_t n);
void config_render_real(FILE *out, double value); /* reads back to the same bits */
void config_render_integer(FILE *out, int64_t value);

/* Helpers for CONFIG_CUSTOM. */
int config_expected(const struct config_where *where, const struct config_node *node,
                    const char *what,
                    const char *doc); /* EINVAL "expected ..., found ..." */
int config_set_string(char **field, const char *value,
                      const struct config_where *where);
void config_strings_free(char **strings, size_t n);
/* Convert a list of strings (not empty, unless empty_ok) to a new array, never NULL. */
int config_strings_get(const struct config_node *node, bool empty_ok, char ***strings,
                       size_t *n, const char *doc, const struct config_where *where);

#endif
