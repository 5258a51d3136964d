/* array.c - grow an array by doubling. */
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

int array_grow(void *array, size_t *room, size_t n, size_t size)
{
    void *bigger, *old;

    if (n < *room)
        return 0;
    memcpy(&old, array, sizeof old);
    bigger = reallocarray(old, 2 * n + 16, size);
    if (!bigger)
        return -1;
    memcpy(array, &bigger, sizeof bigger);
    *room = 2 * n + 16;
    return 0;
}
