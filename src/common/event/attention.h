/*
 * attention.h - a request to stop cancels other waits. The event loop notices it by
 * itself; code that asks a tool and needs its answer before it can go on waits for
 * both.
 */
#ifndef RAYTRAIN_EVENT_ATTENTION_H
#define RAYTRAIN_EVENT_ATTENTION_H

#include <stdbool.h>

/* Set the descriptor that is readable as long as a request has not been read; -1: none.
 * For the whole process. Returns the previous one. */
int attention_set(int fd);
bool attention_is_called(void);
/* Wait until `fd` is readable, a request arrives, or so many milliseconds are over; -1:
 * no limit. */
void attention_wait(int fd, int ms);

#endif
