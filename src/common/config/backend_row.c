/* backend_row.c - the table of backends, made from the list in backend_row.h. */
#include "config/backend_row.h"

#include <stddef.h>
#include <string.h>

#define BACKEND_ROW(id, ...) {.name = #id, __VA_ARGS__},

const struct backend_row backend_rows[] = {BACKENDS(BACKEND_ROW){.name = NULL}};

const struct backend_row *backend_row_find(const char *name)
{
    for (const struct backend_row *row = backend_rows; row->name; row++)
        if (!strcmp(row->name, name))
            return row;
    return NULL;
}

bool backend_row_has(const char *const *list, const char *word)
{
    for (; list && *list; list++)
        if (!strcmp(*list, word))
            return true;
    return false;
}
