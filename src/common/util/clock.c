/* clock.c - read the clocks, and format a time as ISO 8601. */
#include "util/clock.h"

#include <string.h>
#include <time.h>

static double seconds(clockid_t id)
{
    struct timespec t;

    if (clock_gettime(id, &t) < 0)
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

int64_t clock_unix(void)
{
    return (int64_t)time(NULL);
}

double clock_unix_double(void)
{
    return seconds(CLOCK_REALTIME);
}

/* strftime writes the offset as +0100; the extended form of ISO 8601 has a colon. */
void clock_iso8601(int64_t t, char out[32])
{
    const size_t colon = sizeof "2026-03-01T12:34:56+01" - 1;
    time_t when = (time_t)t;
    struct tm tm;

    out[0] = '\0';
    if (!localtime_r(&when, &tm) || tm.tm_year + 1900 < 0 || tm.tm_year + 1900 > 9999)
        return;
    if (strftime(out, 30, "%Y-%m-%dT%H:%M:%S%z", &tm) != colon + 2) {
        out[0] = '\0';
        return;
    }
    memmove(out + colon + 1, out + colon, 3);
    out[colon] = ':';
}
