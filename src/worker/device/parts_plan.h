/*
 * parts_plan.h - which calls of a library for collectives combine, or copy, the parts
 * of the ranks. Parts have different sizes, but ReduceScatter and AllGather take the
 * same number of elements from each rank. So they take windows of one size, and where
 * the cut between two ranks differs from the cut between their windows, the two
 * exchange the elements between. The number of calls that a rank makes does not depend
 * on the number of ranks.
 */
#ifndef RAYTRAIN_DEVICE_PARTS_PLAN_H
#define RAYTRAIN_DEVICE_PARTS_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* The most parts that have a call each. */
#define PARTS_EACH_MAX 4

enum parts_way {
    /* Rank r's window begins at element r * window; the last rank also has the elements
     * after the last window. */
    PARTS_WINDOWS,
    /* A call for each part that is not empty: there are at most PARTS_EACH_MAX. */
    PARTS_EACH,
    /* Parts are too far from windows: the call takes all elements, on all ranks. */
    PARTS_WHOLE
};

struct parts_plan {
    enum parts_way way;
    size_t window; /* elements; > 0 with PARTS_WINDOWS */
};

/* Rank r's part is elements [cuts[r], cuts[r + 1]), and cuts[0] is 0. A window begins
 * at a multiple of `unit` elements if that costs little. The plan is the same on all
 * ranks. */
struct parts_plan parts_plan(const size_t cuts[], int size, size_t unit);

/* n elements from `first` on are in the window of one rank and in the part of
 * another. */
struct parts_gap {
    size_t first, n;
    int holder, owner; /* of the window; of the part */
};

/* The gap between the ranks k - 1 and k, 0 < k < size; false if there is none. */
bool parts_gap(const struct parts_plan *plan, const size_t cuts[], int k,
               struct parts_gap *gap);

#endif
