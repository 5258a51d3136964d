/* plot_axis.c - round numbers for the ends and the marks of an axis, and their
 * texts. */
#include "config.h"

#include "plot/plot_axis.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Linear ---- */

/* By which factor round ends may make the axis longer than the data. */
#define WASTE_MAX 1.15

/* 1, 2 or 5 times a power of ten that is at least `least`. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least)));

    for (int factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3)
        if (factor * power >= least * (1 - 1e-9))
            return factor * power;
    return 10 * power;
}

/* Use both ends and nothing else: for ranges without round numbers in a double. */
static void ends_make(double low, double high, struct plot_axis *axis)
{
    axis->low = low;
    axis->high = high;
    axis->n = 2;
    axis->ticks[0] = low;
    axis->ticks[1] = high;
}

/* Ends and marks at round numbers between the ends of the data; at least two fit. */
static void tight_make(double low, double high, size_t most, struct plot_axis *axis)
{
    double step = round_step((high - low) / (double)most), first, last;
    struct plot_axis tight = *axis;

    for (;;) {
        first = ceil(low / step - 1e-9);
        last = floor(high / step + 1e-9);
        if (last - first + 1 <= (double)most)
            break;
        step = round_step(step * 1.5);
    }
    if (last - first < 1)
        return;
    tight.n = 0;
    for (double at = first; at <= last; at++)
        tight.ticks[tight.n++] = at * step;
    tight.low = low;
    tight.high = high;
    *axis = tight;
}

static void linear_make(double low, double high, size_t most, struct plot_axis *axis)
{
    double step, first, last;

    if (low == high) {
        double around = low == 0 ? 1 : fabs(low) * 0.1;

        low -= around;
        high += around;
    }
    step = round_step((high / 2 - low / 2) / (double)(most - 1) * 2);
    for (;;) {
        first = floor(low / step + 1e-9);
        last = ceil(high / step - 1e-9);
        if (!isfinite(step) || !isfinite(first * step) || !isfinite(last * step) ||
            step < DBL_MIN || fabs(first) > 1e15 || fabs(last) > 1e15) {
            ends_make(low, high, axis);
            return;
        }
        if (last - first + 1 <= (double)most)
            break;
        step = round_step(step * 1.5);
    }
    axis->n = 0;
    for (double at = first; at <= last; at++)
        axis->ticks[axis->n++] = at * step;
    axis->low = axis->ticks[0];
    axis->high = axis->ticks[axis->n - 1];
    if (!(axis->low < axis->high))
        ends_make(low, high, axis);
    else if (axis->high - axis->low > WASTE_MAX * (high - low))
        tight_make(low, high, most, axis);
}

/* ---- Logarithmic ---- */

static const double factors[] = {1, 2, 5};

/* The marks of a logarithmic axis are 1, 2 and 5 times powers of ten, counted from
 * 1. */
static double mark(int at)
{
    int power = at >= 0 ? at / 3 : -((2 - at) / 3);

    return factors[at - 3 * power] * pow(10, power);
}

static int mark_below(double value)
{
    int at = 3 * (int)floor(log10(value)) + 4;

    while (mark(at) > value && at > 3 * -324)
        at--;
    return at;
}

static void log_make(double low, double high, size_t most, struct plot_axis *axis)
{
    int first = mark_below(low), last = mark_below(high), stride = 1;

    if (mark(last) < high || last == first)
        last++;
    if (last - first + 1 > (int)most) { /* only powers of ten */
        first = first >= 0 ? first / 3 * 3 : -((2 - first) / 3) * 3;
        last = last >= 0 ? (last + 2) / 3 * 3 : -(-last / 3) * 3;
        stride = 3;
        while ((last - first + stride - 1) / stride + 1 > (int)most)
            stride += 3;
        last = first + (last - first + stride - 1) / stride * stride;
    }
    if (mark(first) < DBL_MIN || !isfinite(mark(last))) {
        ends_make(low, high > low ? high : low * 2, axis);
        return;
    }
    axis->n = 0;
    for (int at = first; at <= last && axis->n < PLOT_TICKS_MAX; at += stride)
        axis->ticks[axis->n++] = mark(at);
    axis->low = axis->ticks[0];
    axis->high = axis->ticks[axis->n - 1];
}

/* ---- All ---- */

/* Print the marks with as few digits as distinguish them. */
static void texts_make(struct plot_axis *axis)
{
    for (int digits = 4; digits <= 17; digits++) {
        bool same = false;

        for (size_t i = 0; i < axis->n; i++) {
            snprintf(axis->texts[i], PLOT_TICK_TEXT, "%.*g", digits, axis->ticks[i]);
            same = same || (i > 0 && strcmp(axis->texts[i], axis->texts[i - 1]) == 0);
        }
        if (!same)
            return;
    }
}

void plot_axis_make(double low, double high, bool log, size_t most,
                    struct plot_axis *axis)
{
    *axis = (struct plot_axis){.log = log};
    most = most < 2 ? 2 : most > PLOT_TICKS_MAX ? PLOT_TICKS_MAX : most;
    if (log)
        log_make(low, high, most, axis);
    else
        linear_make(low, high, most, axis);
    for (size_t i = 0; i < axis->n; i++)
        axis->ticks[i] += 0.0; /* not -0 */
    texts_make(axis);
}

double plot_axis_place(const struct plot_axis *axis, double value)
{
    double place;

    if (axis->log)
        place =
            (log10(value) - log10(axis->low)) / (log10(axis->high) - log10(axis->low));
    else
        place = (value / 2 - axis->low / 2) / (axis->high / 2 - axis->low / 2);
    return place < 0 ? 0 : place > 1 ? 1 : place;
}
