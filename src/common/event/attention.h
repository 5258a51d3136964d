/*
 * attention.h - let a request to stop interrupt other waits. The event loop receives
 * such a request itself; code that waits for a tool's answer before it continues waits
 * for both.
 */
#ifndef RAYTRAIN_EVENT_ATTENTION_H
#define RAYTRAIN_EVENT_ATTENTION_H

#include <stdbool.h>

/* Set, for the whole process, the descriptor that is readable as long as a request has
 * not been read; -1: none. Returns the previous one. */
int attention_set(int fd);
bool attention_is_called(void);
/* Wait until `fd` is readable, a request arrives, or the time is over; -1: no limit. */
void attention_wait(int fd, int ms);

#endif
