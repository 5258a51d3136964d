/* extremes.h - the least and the greatest value of each element of the rows of a
 * column. Missing values are ignored. */
#ifndef RAYTRAIN_PREPROCESS_EXTREMES_H
#define RAYTRAIN_PREPROCESS_EXTREMES_H

#include "comm/comm.h"
#include "frame/frame.h"

struct extremes {
    size_t width;
    double *min, *max; /* for each lane; +inf and -inf before the first value */
    size_t lanes;      /* a multiple of width */
};

int extremes_create(struct extremes *e, size_t width, struct error *err);
void extremes_free(struct extremes *e); /* zeroed is fine */
void extremes_add(struct extremes *e, const struct frame_column *c, uint64_t rows);
/* COLLECTIVE: makes them those of all ranks. Do not add rows afterwards. */
int extremes_reduce(struct extremes *e, struct comm *comm, struct error *err);

#endif
