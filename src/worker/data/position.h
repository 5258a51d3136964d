/*
 * position.h - which rows a rank gets next: arithmetic alone.
 *
 * The position is the number of rows of the epoch that all ranks together have had.
 */
#ifndef RAYTRAIN_DATA_POSITION_H
#define RAYTRAIN_DATA_POSITION_H

#include <stdint.h>

struct portion {
    uint64_t first, count; /* of the epoch's order, this rank's */
    uint64_t end;          /* the position behind the whole batch, all ranks' */
};

/*
 * The batch at `position` of an epoch of `rows` rows for `rank` of `size`, `batch` rows
 * a rank. While there are enough for all, rank r takes the r-th `batch` rows; what is
 * left at the end is split evenly, the lower ranks taking one more. All ranks get the
 * same end.
 */
struct portion position_portion(uint64_t rows, uint64_t position, uint64_t batch,
                                int rank, int size);

#endif
