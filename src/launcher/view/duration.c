/* duration.c - durations as text, with as much precision as their length deserves. */
#include "view/duration.h"

#include <stdio.h>
#include <string.h>

#define MINUTE 60L
#define HOUR   3600L
#define DAY    86400L
#define LONG   (100000 * DAY) /* longer times are not shown as a number */

static long whole_seconds(double seconds)
{
    if (!(seconds > 0))
        return 0;
    return seconds < LONG ? (long)seconds : LONG;
}

char *duration_text(double seconds, char out[DURATION_TEXT])
{
    long s = whole_seconds(seconds);

    if (s >= DAY)
        snprintf(out, DURATION_TEXT, "%ld d %02ld:%02ld", s / DAY, s % DAY / HOUR,
                 s % HOUR / MINUTE);
    else if (s >= HOUR)
        snprintf(out, DURATION_TEXT, "%ld:%02ld:%02ld", s / HOUR, s % HOUR / MINUTE,
                 s % MINUTE);
    else
        snprintf(out, DURATION_TEXT, "%ld:%02ld", s / MINUTE, s % MINUTE);
    return out;
}

char *age_text(double seconds, char out[DURATION_TEXT])
{
    static const struct {
        long below, unit;
        const char *name;
    } units[] = {{MINUTE, 1, "s"}, {HOUR, MINUTE, "min"}, {DAY, HOUR, "h"}};
    long s = whole_seconds(seconds);

    if (s == 0)
        return strcpy(out, "just now");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (s < units[i].below) {
            snprintf(out, DURATION_TEXT, "%ld %s ago", s / units[i].unit,
                     units[i].name);
            return out;
        }
    }
    snprintf(out, DURATION_TEXT, "%ld d ago", s / DAY);
    return out;
}

char *pace_text(double seconds, char out[DURATION_TEXT])
{
    if (seconds >= 100)
        return duration_text(seconds, out);
    if (seconds >= 0.1)
        snprintf(out, DURATION_TEXT, "%.3g s", seconds);
    else
        snprintf(out, DURATION_TEXT, "%.3g ms", seconds * 1e3);
    return out;
}
