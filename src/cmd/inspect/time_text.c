/* time_text.c - durations in two forms, exact to a tenth of a second or in one unit. */
#include "config.h"

#include "inspect/time_text.h"

#include <math.h>
#include <stdio.h>

#define LONGEST 1e12 /* seconds */

char *time_text(double seconds, char text[TIME_TEXT_MAX])
{
    long long s = seconds >= 0 && seconds < LONGEST ? (long long)seconds : 0;

    if (!(seconds >= 0 && seconds < LONGEST))
        snprintf(text, TIME_TEXT_MAX, "?");
    else if (s < 60)
        snprintf(text, TIME_TEXT_MAX, "%.1fs", seconds < 59.9 ? seconds : 59.9);
    else if (s < 3600)
        snprintf(text, TIME_TEXT_MAX, "%lldm%02llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, TIME_TEXT_MAX, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(text, TIME_TEXT_MAX, "%lldd%02lldh", s / 86400, s / 3600 % 24);
    return text;
}

char *time_text_short(double seconds, char text[TIME_TEXT_MAX])
{
    static const struct {
        double seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
    size_t i = 0;

    while (i < 3 && seconds < units[i].seconds)
        i++;
    snprintf(text, TIME_TEXT_MAX, "%.0f%s", floor(seconds / units[i].seconds),
             units[i].unit);
    return text;
}
