/* time_limit.c - parse the forms of a time limit. */
#include "util/time_limit.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Skip a number; false: there is none, or it is too large. */
static bool number_skip(const char **p, int64_t *value)
{
    size_t digits = strspn(*p, "0123456789");

    if (digits == 0 || digits > 9)
        return false;
    *value = strtol(*p, NULL, 10);
    *p += digits;
    return true;
}

bool time_limit_parse(const char *text, int64_t *seconds)
{
    const char *p = text;
    int64_t days = 0, parts[3] = {0}, n_parts = 1, of_first;
    bool has_days, ok = number_skip(&p, &parts[0]);

    *seconds = 0;
    if (!strcasecmp(text, "infinite") || !strcasecmp(text, "unlimited"))
        return true;
    has_days = ok && *p == '-';
    if (has_days) {
        days = parts[0];
        p++;
        ok = number_skip(&p, &parts[0]);
    }
    for (; ok && *p == ':' && n_parts < 3; n_parts++) {
        p++;
        ok = number_skip(&p, &parts[n_parts]);
    }
    if (!ok || *p)
        return false;
    of_first = has_days || n_parts == 3 ? 3600 : 60;
    *seconds = 86400 * days + of_first * parts[0] + of_first / 60 * parts[1] + parts[2];
    *seconds = (*seconds + 59) / 60 * 60;
    return true;
}
