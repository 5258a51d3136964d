/*
 * number_text.c - try printf(3) with more and more digits until the text reads back the
 * same.
 */
#include "util/number_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/number.h"

/* Like printf, but with a point in every locale. */
static size_t print(char *text, double value, int digits)
{
    int n = snprintf(text, NUMBER_TEXT, "%.*g", digits, value);
    size_t before = strspn(text, "-0123456789");
    size_t point = strcspn(text + before, "0123456789e");

    if (point == 0)
        return (size_t)n;
    text[before] = '.';
    memmove(text + before + 1, text + before + point, (size_t)n + 1 - before - point);
    return (size_t)n + 1 - point;
}

static size_t special(char text[NUMBER_TEXT], double value)
{
    strcpy(text, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return strlen(text);
}

size_t number_text(char text[NUMBER_TEXT], double value)
{
    double read;
    size_t n = 0;

    if (!isfinite(value))
        return special(text, value);
    for (int digits = 15; digits <= 17; digits++) {
        n = print(text, value, digits);
        if (number_float64(text, text + n, &read) == text + n && read == value)
            break;
    }
    return n;
}

size_t number_text_float(char text[NUMBER_TEXT], float value)
{
    double read;
    size_t n = 0;

    if (!isfinite(value))
        return special(text, (double)value);
    for (int digits = 6; digits <= 9; digits++) {
        n = print(text, (double)value, digits);
        if (number_float64(text, text + n, &read) == text + n && (float)read == value)
            break;
    }
    return n;
}
