/* name_index.c - a sorted array of pointers, and a binary search. */
#include "util/name_index.h"

#include <stdlib.h>
#include <string.h>

static int places_compare(const void *a, const void *b)
{
    const struct name_place *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order != 0)
        return order;
    return x->at < y->at ? -1 : x->at > y->at;
}

int name_index_make(struct name_index *x, char *const *first, size_t stride, size_t n)
{
    const char *next = (const char *)first;

    x->n = 0;
    x->places = calloc(n + 1, sizeof *x->places);
    if (!x->places)
        return -1;
    for (; x->n < n; x->n++, next += stride)
        x->places[x->n] = (struct name_place){*(char *const *)next, x->n};
    qsort(x->places, n, sizeof *x->places, places_compare);
    return 0;
}

size_t name_index_find(const struct name_index *x, const char *name)
{
    size_t low = 0, high = x->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(x->places[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->n && strcmp(x->places[low].name, name) == 0 ? x->places[low].at
                                                                : NAME_INDEX_NONE;
}

void name_index_clear(struct name_index *x)
{
    free(x->places);
    *x = (struct name_index){0};
}
