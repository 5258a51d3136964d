/* extremes.h - the least and the greatest value of each element of the rows of a
 * column; missing values are left out. */
#ifndef RAYTRAIN_PREPROCESS_EXTREMES_H
#define RAYTRAIN_PREPROCESS_EXTREMES_H

#include "comm/comm.h"
#include "frame/frame.h"

struct extremes {
    size_t width;
    double *min, *max; /* of each element: +inf and -inf while there is no value */
    size_t lanes;      /* their elements: a multiple of width */
};

int extremes_create(struct extremes *e, size_t width, struct error *err);
void extremes_free(struct extremes *e); /* zeroed is fine */
void extremes_add(struct extremes *e, const struct frame_column *c, uint64_t rows);
/* COLLECTIVE: those of all ranks. Nothing is added afterwards. */
int extremes_reduce(struct extremes *e, struct comm *comm, struct error *err);

#endif
