/* rank_list.c - write ranges of ranks until the text is full. */
#include "util/rank_list.h"

#include <stdio.h>
#include <string.h>

/* Room for one more range, and for the dots after it. */
#define TAIL_BYTES 32

/* The end of the range of members that starts at `first`. */
static int range_end(const bool in[], int size, int first)
{
    int last = first;

    while (last + 1 < size && in[last + 1])
        last++;
    return last;
}

static int members(const bool in[], int size)
{
    int n = 0;

    for (int i = 0; i < size; i++)
        n += in[i];
    return n;
}

char *rank_list(const bool in[], int size, char out[RANK_LIST_MAX])
{
    int n = members(in, size);
    size_t used;

    if (n == 0)
        return strcpy(out, "no rank");
    used = (size_t)sprintf(out, n == 1 ? "rank " : "ranks ");
    for (int i = 0, last, first = 1; i < size; i = last + 1) {
        last = i;
        if (!in[i])
            continue;
        if (used > RANK_LIST_MAX - TAIL_BYTES) {
            strcpy(out + used, ", ...");
            break;
        }
        last = range_end(in, size, i);
        used += (size_t)sprintf(out + used, first ? "%d" : ", %d", i);
        if (last > i)
            used += (size_t)sprintf(out + used, "-%d", last);
        first = 0;
    }
    return out;
}
