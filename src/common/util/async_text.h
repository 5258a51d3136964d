/*
 * async_text.h - compose text in a signal handler. Each function writes at `to`,
 * without a NUL, and returns the end of the text that it has written. The caller
 * provides the room.
 */
#ifndef RAYTRAIN_UTIL_ASYNC_TEXT_H
#define RAYTRAIN_UTIL_ASYNC_TEXT_H

#include <stdint.h>

/* Room for any number. */
#define ASYNC_NUMBER_MAX 20
/* Room for any time in a four-digit year. */
#define ASYNC_TIME_MAX 20

char *async_text(char *to, const char *text);
char *async_number(char *to, uint64_t number);
/* Seconds since 1970 as "2026-03-01T12:34:56Z". */
char *async_time(char *to, int64_t unix_s);

#endif
