/* report_scan.c - skip through a JSON object. */
#include "run/report_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *blanks_skip(const char *c)
{
    return c + strspn(c, " \t\r\n");
}

/* After the string that begins at c; NULL: it does not end. */
static const char *string_skip(const char *c)
{
    for (c++; *c && *c != '"'; c++)
        if (*c == '\\' && *++c == '\0')
            return NULL;
    return *c ? c + 1 : NULL;
}

/* After the object or array that begins at c; NULL: it does not end. */
static const char *group_skip(const char *c)
{
    size_t depth = 0;

    do {
        c += strcspn(c, "\"[]{}");
        if (*c == '\0')
            return NULL;
        if (*c == '"') {
            c = string_skip(c);
            if (!c)
                return NULL;
            continue;
        }
        if (*c == '[' || *c == '{')
            depth++;
        else
            depth--;
        c++;
    } while (depth > 0);
    return c;
}

/* After the value that begins at c; NULL: there is none. */
static const char *value_skip(const char *c)
{
    size_t n;

    if (*c == '"')
        return string_skip(c);
    if (*c == '[' || *c == '{')
        return group_skip(c);
    n = strspn(c, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    return n > 0 ? c + n : NULL;
}

static double number_of(const char *c)
{
    return *c == '-' || (*c >= '0' && *c <= '9') ? strtod(c, NULL) : INFINITY;
}

static void key_take(const char *key, const char *key_end, const char *value,
                     const char *const keys[], size_t n_keys, double values[])
{
    size_t n = (size_t)(key_end - key);

    for (size_t i = 0; i < n_keys; i++)
        if (strlen(keys[i]) == n && memcmp(keys[i], key, n) == 0)
            values[i] = number_of(value);
}

bool report_scan(const char *line, size_t n, const char *const keys[], size_t n_keys,
                 double values[])
{
    const char *c = blanks_skip(line), *key, *end;

    for (size_t i = 0; i < n_keys; i++)
        values[i] = NAN;
    if (*c != '{')
        return false;
    c = blanks_skip(c + 1);
    while (*c == '"') {
        key = c + 1;
        end = string_skip(c);
        c = end ? blanks_skip(end) : "";
        if (*c != ':')
            return false;
        c = blanks_skip(c + 1);
        key_take(key, end - 1, c, keys, n_keys, values);
        c = value_skip(c);
        if (!c)
            return false;
        c = blanks_skip(c);
        if (*c != ',')
            break;
        c = blanks_skip(c + 1);
    }
    return *c == '}' && (size_t)(blanks_skip(c + 1) - line) == n;
}
