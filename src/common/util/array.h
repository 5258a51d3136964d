/* array.h - arrays that grow by one element at a time. */
#ifndef RAYTRAIN_UTIL_ARRAY_H
#define RAYTRAIN_UTIL_ARRAY_H

#include <stddef.h>

/* Make room for one more element in an array of n elements of this size, malloc'ed or
 * NULL, with room for *room. array is the address of the pointer to the first of them.
 * Returns 0, or -1 without memory; then nothing has changed. */
int array_grow(void *array, size_t *room, size_t n, size_t size);

#endif
