/*
 * parts_plan.c - chooses windows, calls per part, or whole arrays, by the cuts alone.
 */
#include "config.h"

#include "device/parts_plan.h"

static size_t distance(size_t a, size_t b)
{
    return a < b ? b - a : a - b;
}

/* The largest distance between the cuts and those of windows of this size. */
static size_t farthest(const size_t cuts[], int size, size_t window)
{
    size_t most = 0;

    for (int k = 1; k < size; k++) {
        size_t here = distance(cuts[k], (size_t)k * window);

        most = here > most ? here : most;
    }
    return most;
}

static int parts_count(const size_t cuts[], int size)
{
    int n = 0;

    for (int r = 0; r < size; r++)
        n += cuts[r + 1] > cuts[r];
    return n;
}

/* Are all exchanges between neighbours? No cut may be farther from its window than the
 * length of a window. */
static bool windows_fit(const size_t cuts[], int size, size_t window)
{
    return window > 0 && farthest(cuts, size, window) <= window;
}

struct parts_plan parts_plan(const size_t cuts[], int size, size_t unit)
{
    size_t ranks = (size_t)size, window = cuts[size] / ranks, round = window % unit;

    if (round > 0 && window - round >= ranks * unit &&
        farthest(cuts, size, window) > 0 && windows_fit(cuts, size, window - round))
        window -= round;
    if (windows_fit(cuts, size, window))
        return (struct parts_plan){PARTS_WINDOWS, window};
    return (struct parts_plan){
        parts_count(cuts, size) <= PARTS_EACH_MAX ? PARTS_EACH : PARTS_WHOLE, 0};
}

bool parts_gap(const struct parts_plan *plan, const size_t cuts[], int k,
               struct parts_gap *gap)
{
    size_t border = (size_t)k * plan->window, cut = cuts[k];

    if (cut < border)
        *gap = (struct parts_gap){cut, border - cut, k - 1, k};
    else
        *gap = (struct parts_gap){border, cut - border, k, k - 1};
    return cut != border;
}
