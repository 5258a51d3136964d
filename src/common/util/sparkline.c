/* sparkline.c - scale numbers to the heights of blocks, a column each. */
#include "util/sparkline.h"

#include <math.h>
#include <string.h>

static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ascii[] = {"_", ".", "-", "~", "^"};

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

/* Half of each value is added, since the sum of two doubles may be infinite. */
static double mean(const double *values, size_t n)
{
    double half = 0;
    size_t used = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i])) {
            used++;
            half += (values[i] / 2 - half) / (double)used;
        }
    return used ? 2 * half : NAN;
}

/* Where `value` lies between low and high, 0 to 1. */
static double position(double value, double low, double high)
{
    if (isinf(value))
        return value > 0;
    if (!(high > low))
        return 0.5;
    return (value / 2 - low / 2) / (high / 2 - low / 2);
}

char *sparkline(const double *values, size_t n, size_t columns, bool utf8,
                char out[SPARKLINE_MAX])
{
    const char *const *glyphs = utf8 ? blocks : ascii;
    size_t levels = utf8 ? N_OF(blocks) : N_OF(ascii);
    double column[SPARKLINE_COLUMNS], low = INFINITY, high = -INFINITY;
    char *end = out;

    if (columns > SPARKLINE_COLUMNS)
        columns = SPARKLINE_COLUMNS;
    if (columns > n)
        columns = n;
    for (size_t i = 0; i < columns; i++) {
        size_t from = i * n / columns, to = (i + 1) * n / columns;

        column[i] = mean(values + from, to - from);
        if (isfinite(column[i]) && column[i] < low)
            low = column[i];
        if (isfinite(column[i]) && column[i] > high)
            high = column[i];
    }
    for (size_t i = 0; i < columns; i++) {
        size_t level;

        if (isnan(column[i])) {
            *end++ = ' ';
            continue;
        }
        level = (size_t)(position(column[i], low, high) * (double)levels);
        end = stpcpy(end, glyphs[level < levels ? level : levels - 1]);
    }
    *end = '\0';
    return out;
}
