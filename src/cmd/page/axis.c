/* axis.c - choose round numbers between two values, and print them as labels. */
#include "config.h"

#include "page/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* 1, 2 or 5 times a power of ten that is at least `rough`. */
static double round_step(double rough)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(rough)));

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power >= rough * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

/* With a unit, or as many digits as the step has. */
static void label_write(double value, double step, char label[AXIS_LABEL_MAX])
{
    static const struct {
        double from;
        const char *unit;
    } units[] = {{1e9, "G"}, {1e6, "M"}, {1e4, "k"}};
    double size = fabs(value) + step;
    int digits = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;

    if (fabs(value) < step / 1e6)
        value = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units && value != 0; i++)
        if (size >= units[i].from && size < 1e12) {
            double scale = i == 2 ? 1e3 : units[i].from;

            snprintf(label, AXIS_LABEL_MAX, "%.6g%s", value / scale, units[i].unit);
            return;
        }
    if (value != 0 && (digits > 4 || size >= 1e12))
        snprintf(label, AXIS_LABEL_MAX, "%.3g", value);
    else
        snprintf(label, AXIS_LABEL_MAX, "%.*f", value == 0 ? 0 : digits, value);
}

static void ticks_set(struct axis *a, double step)
{
    double first = ceil(a->low / step - 1e-9);

    a->n = 0;
    for (double k = first; a->n < AXIS_TICKS_MAX; k++) {
        double at = k * step;

        if (at > a->high + step * 1e-9 || k + 1 == k)
            break;
        a->at[a->n] = at;
        label_write(at, step, a->labels[a->n++]);
    }
}

void axis_of_numbers(double low, double high, int wanted, int margin, struct axis *a)
{
    double span;

    if (!(high > low)) { /* a single value: some space around it */
        double around = low == 0 ? 1 : fabs(low) * 0.1;

        low -= around;
        high += around;
    }
    span = high / 2 - low / 2; /* also for values near the largest doubles */
    if (margin && isfinite(2 * span)) {
        low -= span * 0.08;
        high += span * 0.08;
    }
    a->low = low;
    a->high = high;
    a->n = 0;
    if (span > 0 && isfinite(high) && isfinite(low) &&
        span > 1e-12 * fmax(fabs(low), fabs(high)))
        ticks_set(a, round_step(span / wanted * 2));
}

void axis_of_iterations(double low, double high, int wanted, struct axis *a)
{
    double step;

    if (!(high > low)) {
        low -= 1;
        high += 1;
    }
    step = round_step((high - low) / wanted);
    a->low = low;
    a->high = high;
    ticks_set(a, step < 1 ? 1 : step);
}

double axis_place(const struct axis *a, double value)
{
    double span = a->high / 2 - a->low / 2, at = (value / 2 - a->low / 2) / span;

    return at < 0 ? 0 : at > 1 ? 1 : at;
}

size_t axis_width(const struct axis *a)
{
    size_t width = 1;

    for (size_t i = 0; i < a->n; i++)
        if (strlen(a->labels[i]) > width)
            width = strlen(a->labels[i]);
    return width;
}
