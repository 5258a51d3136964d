/*
 * parts_plan.h - which calls of a library for collectives combine, or copy, the parts of the
 * ranks. Parts have different sizes; ReduceScatter and AllGather take the same number of
 * elements from each rank. So they take windows of one size, and where the cut between two
 * ranks is not that between their windows, these two exchange the elements between. How many
 * calls a rank makes does not depend on the number of ranks.
 */
#ifndef RAYTRAIN_DEVICE_PARTS_PLAN_H
#define RAYTRAIN_DEVICE_PARTS_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* The most parts that have a call each. */
#define PARTS_EACH_MAX 4

enum parts_way {
    /* Rank r's window is from element r * window on; the last rank also has the elements after
     * the last window. */
    PARTS_WINDOWS,
    /* A call for each part that is not empty: there are at most PARTS_EACH_MAX. */
    PARTS_EACH,
    /* Parts are too far from windows: all elements take part, on all ranks. */
    PARTS_WHOLE
};

struct parts_plan {
    enum parts_way way;
    size_t window; /* elements; > 0 with PARTS_WINDOWS */
};

/* Rank r's part is from element cuts[r] up to cuts[r + 1], cuts[0] is 0. A window begins at a
 * multiple of `unit` elements if that does not cost much. The plan is the same on all ranks. */
struct parts_plan parts_plan(const size_t cuts[], int size, size_t unit);

/* n elements from `first` on are in the window of one rank and in the part of another. */
struct parts_gap {
    size_t first, n;
    int holder, owner; /* of the window; of the part */
};

/* What is between the ranks k - 1 and k, 0 < k < size; false: nothing. */
bool parts_gap(const struct parts_plan *plan, const size_t cuts[], int k,
               struct parts_gap *gap);

#endif
