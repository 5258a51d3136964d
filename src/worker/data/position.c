#include "data/position.h"

struct portion position_portion(uint64_t rows, uint64_t position, uint64_t batch,
                                int rank, int size)
{
    uint64_t left = rows - position, n = (uint64_t)size, r = (uint64_t)rank;
    uint64_t share = left / n, extra = left % n;
    struct portion p;

    if (share >= batch) { /* batch * size fits: it is at most left */
        p.first = position + r * batch;
        p.count = batch;
        p.end = position + n * batch;
    } else {
        p.first = position + r * share + (r < extra ? r : extra);
        p.count = share + (r < extra);
        p.end = rows;
    }
    return p;
}
