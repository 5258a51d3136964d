#include "watch/report_pace.h"

#include <math.h>

void report_pace_add(struct report_pace *pace, double seconds)
{
    if (pace->seen > 0)
        pace->recent[pace->seen % REPORT_PACE_RECENT] = seconds;
    pace->seen++;
}

double report_pace_longest(const struct report_pace *pace)
{
    double longest = 0;

    for (int i = 0; i < REPORT_PACE_RECENT; i++)
        longest = fmax(longest, pace->recent[i]);
    return longest;
}
