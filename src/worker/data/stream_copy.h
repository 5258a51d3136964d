/*
 * stream_copy.h - copies bytes that are not used soon. They bypass the caches, where
 * they would replace what is used, and for which their old contents would be fetched
 * first.
 */
#ifndef RAYTRAIN_DATA_STREAM_COPY_H
#define RAYTRAIN_DATA_STREAM_COPY_H

#include <stddef.h>

/* As memcpy(). Other threads see the bytes after stream_end(). */
void stream_copy(unsigned char *to, const unsigned char *from, size_t n);
void stream_end(void);

#endif
