/* worker_variables.c - pack and unpack blocks of variables. */
#include "task/worker_variables.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/argv.h"

/* The string after this one; NULL: bytes end before a NUL. */
static const char *string_next(const char *at, const char *end)
{
    const char *nul = memchr(at, '\0', (size_t)(end - at));

    return nul ? nul + 1 : NULL;
}

/* The list after this one; NULL: it does not end. */
static const char *list_next(const char *at, const char *end)
{
    while (at && at < end && *at)
        at = string_next(at, end);
    return at && at < end ? at + 1 : NULL;
}

static bool list_has(const char *list, const char *end, const char *variable)
{
    for (const char *at = list; at && at < end && *at; at = string_next(at, end))
        if (strcmp(at, variable) == 0)
            return true;
    return false;
}

static bool all_have(const char *lists, const char *end, int n, const char *variable)
{
    const char *list = lists;

    for (int i = 0; i < n; i++, list = list_next(list, end))
        if (!list_has(list, end, variable))
            return false;
    return true;
}

/* Write those of a list that all have, or those that not all have. */
static void list_write(FILE *out, const char *list, const char *lists, const char *end,
                       int n, bool common)
{
    for (const char *at = list; *at; at = string_next(at, end))
        if (all_have(lists, end, n, at) == common)
            fwrite(at, 1, strlen(at) + 1, out);
    fputc('\0', out);
}

static bool are_complete(const char *lists, const char *end, int n)
{
    for (int i = 0; i < n; i++)
        if (!(lists = list_next(lists, end)))
            return false;
    return true;
}

int worker_variables_pack(const char *lists, size_t n, int n_workers, char **block,
                          size_t *n_block, struct error *err)
{
    const char *end = lists + n, *list = lists;
    FILE *out;

    *block = NULL;
    if (!are_complete(lists, end, n_workers))
        return error_set(err, RAYTRAIN_ECOMM,
                         "the PMIx server has sent variables of fewer than %d workers",
                         n_workers);
    if (!(out = open_memstream(block, n_block)))
        return error_no_memory(err);
    list_write(out, lists, lists, end, n_workers, true);
    for (int i = 0; i < n_workers; i++, list = list_next(list, end))
        list_write(out, list, lists, end, n_workers, false);
    if (fclose(out) == 0)
        return 0;
    free(*block);
    *block = NULL;
    return error_no_memory(err);
}

static int list_append(const char *list, const char *end, char ***variables,
                       struct error *err)
{
    for (const char *at = list; at && at < end && *at; at = string_next(at, end))
        if (argv_append(variables, at, err) < 0)
            return -1;
    return 0;
}

int worker_variables_unpack(const char *block, size_t n, int mine, char ***variables,
                            struct error *err)
{
    const char *end = block + n, *list = list_next(block, end);

    *variables = NULL;
    for (int i = 0; list && i < mine; i++)
        list = list_next(list, end);
    if (!list || !list_next(list, end))
        return error_set(err, RAYTRAIN_ECOMM,
                         "the first rank of this node has sent no variables for "
                         "worker %d",
                         mine);
    if (list_append(block, end, variables, err) == 0 &&
        list_append(list, end, variables, err) == 0)
        return 0;
    argv_free(*variables);
    *variables = NULL;
    return -1;
}
