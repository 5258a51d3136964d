/*
 * lightgbm_names.c - replaces characters that the library refuses, and keeps names
 * different.
 */
#include "lightgbm/lightgbm_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/name_index.h"

/* The names of columns, and the names that the library accepts. */
struct naming {
    struct name_index columns, tamed;
};

static char *tame(const char *name)
{
    char *own = strdup(name);

    for (char *c = own; c && *c; c++)
        if (strchr("\",:[]{}\\", *c) || isspace((unsigned char)*c))
            *c = '_';
    return own;
}

static bool feature_name_is_used(const struct naming *n, const char *name)
{
    return name_index_find(&n->columns, name) != NAME_INDEX_NONE ||
           name_index_find(&n->tamed, name) != NAME_INDEX_NONE;
}

/* Make the name of feature i unique, by its number. */
static char *name_extend(const struct naming *n, const char *name, size_t i)
{
    size_t room = strlen(name) + 32, length;
    char *own = malloc(room);

    if (!own)
        return NULL;
    length = (size_t)snprintf(own, room, "%s_%zu", name, i);
    while (feature_name_is_used(n, own)) {
        char *grown = realloc(own, length + 2);

        if (!grown) {
            free(own);
            return NULL;
        }
        own = grown;
        own[length++] = '_';
        own[length] = '\0';
    }
    return own;
}

/* True if the new name of feature i is that of a column, or of a feature before it. */
static bool is_taken(const struct naming *n, const char *column, const char *tamed,
                     size_t i)
{
    return strcmp(column, tamed) != 0 &&
           (name_index_find(&n->columns, tamed) != NAME_INDEX_NONE ||
            name_index_find(&n->tamed, tamed) != i);
}

static bool names_part(const struct naming *n, char *const columns[],
                       char *const tamed[], char *made[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        made[i] = is_taken(n, columns[i], tamed[i], i) ? name_extend(n, tamed[i], i)
                                                       : strdup(tamed[i]);
        if (!made[i])
            return false;
    }
    return true;
}

static bool names_tame(char *const columns[], char *tamed[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(tamed[i] = tame(columns[i])))
            return false;
    return true;
}

char **lightgbm_names_make(char *const names[], size_t n, struct error *err)
{
    char **tamed = calloc(n + 1, sizeof *tamed), **made = calloc(n + 1, sizeof *made);
    struct naming naming = {{NULL, 0}, {NULL, 0}};
    bool good = tamed && made && names_tame(names, tamed, n) &&
                name_index_make(&naming.columns, names, sizeof *names, n) == 0 &&
                name_index_make(&naming.tamed, tamed, sizeof *tamed, n) == 0 &&
                names_part(&naming, names, tamed, made, n);

    name_index_clear(&naming.columns);
    name_index_clear(&naming.tamed);
    lightgbm_names_free(tamed, n);
    if (good)
        return made;
    lightgbm_names_free(made, n);
    error_set(err, RAYTRAIN_ENOMEM, "out of memory for the names of features");
    return NULL;
}

void lightgbm_names_free(char **names, size_t n)
{
    for (size_t i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}
