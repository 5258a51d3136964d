/* clock.h - time: monotonic for durations, Unix time for records. */
#ifndef RAYTRAIN_UTIL_CLOCK_H
#define RAYTRAIN_UTIL_CLOCK_H

#include <stdint.h>

/* Seconds that never go backwards, from an arbitrary start. */
double clock_now(void);
/* Unix time, whole seconds. */
int64_t clock_unix(void);
/* Unix time with its fraction. */
double clock_unix_double(void);
/* Local time with offset, "2026-03-01T12:34:56+01:00"; "" if t has no such form. */
void clock_iso8601(int64_t t, char out[32]);

#endif
