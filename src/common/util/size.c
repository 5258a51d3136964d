/*
 * size.c - parse and format amounts of memory without floating point, so that no bits
 * are lost.
 */
#include "util/size.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char units[] = "BKMGTPE";

/* The power of 1024 of the unit; -1 if there is no such unit. */
static int unit_shift(const char *unit)
{
    const char *rest;

    if (!*unit)
        return 0;
    for (int i = 0; units[i]; i++) {
        if (strncasecmp(unit, &units[i], 1) != 0)
            continue;
        rest = unit + 1;
        if (!*rest || (i > 0 && (!strcasecmp(rest, "B") || !strcasecmp(rest, "iB"))))
            return 10 * i;
        return -1;
    }
    return -1;
}

/* Digits to *value; false if they exceed 64 bits. */
static bool digits_read(const char **p, uint64_t *value, uint64_t *scale)
{
    for (*value = 0; **p >= '0' && **p <= '9'; (*p)++) {
        unsigned digit = (unsigned)(**p - '0');

        if (*value > (UINT64_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
        if (scale && *scale >= 1000000000)
            return false;
        if (scale)
            *scale *= 10;
    }
    return true;
}

int size_parse(const char *text, uint64_t *bytes, struct error *err)
{
    uint64_t whole, fraction = 0, scale = 1;
    const char *p = text;
    int shift;

    if (*p < '0' || *p > '9')
        goto malformed;
    if (!digits_read(&p, &whole, NULL))
        goto too_large;
    if (*p == '.') {
        p++;
        if (*p < '0' || *p > '9' || !digits_read(&p, &fraction, &scale))
            goto malformed;
    }
    shift = unit_shift(p);
    if (shift < 0)
        goto malformed;
    if (shift && whole > (UINT64_MAX >> shift))
        goto too_large;
    *bytes =
        (whole << shift) + (uint64_t)(((unsigned __int128)fraction << shift) / scale);
    return 0;
malformed:
    return error_set(err, RAYTRAIN_EINVAL,
                     "not a size; write bytes or a number with K, M, G or T (\"4G\")");
too_large:
    return error_set(err, RAYTRAIN_EINVAL, "the size exceeds 64 bits");
}

char *size_format(uint64_t bytes, char text[SIZE_TEXT_MAX])
{
    int i = 0;
    uint64_t whole, tenths;

    while (i < 6 && bytes >> (10 * (i + 1)))
        i++;
    whole = bytes >> (10 * i);
    tenths = (uint64_t)((((unsigned __int128)bytes * 10) >> (10 * i)) % 10);
    if (i == 0)
        snprintf(text, SIZE_TEXT_MAX, "%" PRIu64, bytes);
    else if (tenths == 0)
        snprintf(text, SIZE_TEXT_MAX, "%" PRIu64 "%c", whole, units[i]);
    else
        snprintf(text, SIZE_TEXT_MAX, "%" PRIu64 ".%" PRIu64 "%c", whole, tenths,
                 units[i]);
    return text;
}
