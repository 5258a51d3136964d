/* array.h - arrays that grow by one element at a time. */
#ifndef RAYTRAIN_UTIL_ARRAY_H
#define RAYTRAIN_UTIL_ARRAY_H

#include <stddef.h>

/* Make room for one element more in an array of n elements of this size, malloc'ed or
 * NULL, with *room places. array: the address of the pointer to the first of them. 0; -1
 * without memory, and nothing has changed. */
int array_grow(void *array, size_t *room, size_t n, size_t size);

#endif
