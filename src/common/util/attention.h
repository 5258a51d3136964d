/*
 * attention.h - what calls off a wait for something else: a request to stop. An event
 * loop hears it by itself; what asks a tool and needs the answer before it can go on
 * waits for both.
 */
#ifndef RAYTRAIN_UTIL_ATTENTION_H
#define RAYTRAIN_UTIL_ATTENTION_H

#include <stdbool.h>

/* A descriptor that is readable as long as a request has not been read; -1: none. For
 * the whole process. Returns the one before. */
int attention_set(int fd);
bool attention_is_called(void);
/* Until `fd` is readable, it is called, or so many milliseconds are over; -1: never. */
void attention_wait(int fd, int ms);

#endif
