/*
 * pid_scope.h - where a pid means the same process: a host since its last boot, and a
 * pid name space on it, such as a container's.
 */
#ifndef RAYTRAIN_UTIL_PID_SCOPE_H
#define RAYTRAIN_UTIL_PID_SCOPE_H

#include <stdint.h>

#define PLACE_MAX 160

/* The place of this process, as text without a newline. */
void place_of_self(char place[PLACE_MAX]);
/* The same as a number. */
uint32_t place_number(void);

#endif
