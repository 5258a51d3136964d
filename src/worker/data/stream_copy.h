/*
 * stream_copy.h - copies bytes that are not used before long: they go to memory past
 * the caches, where they would take the place of what is used, and for which their old
 * contents would have to be fetched first.
 */
#ifndef RAYTRAIN_DATA_STREAM_COPY_H
#define RAYTRAIN_DATA_STREAM_COPY_H

#include <stddef.h>

/* As memcpy(). Other threads see the bytes after stream_end(). */
void stream_copy(unsigned char *to, const unsigned char *from, size_t n);
void stream_end(void);

#endif
