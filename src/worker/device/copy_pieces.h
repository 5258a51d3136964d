/* copy_pieces.h - in which pieces copies to and from a device are made. */
#ifndef RAYTRAIN_DEVICE_COPY_PIECES_H
#define RAYTRAIN_DEVICE_COPY_PIECES_H

#include <stddef.h>

/* How much is copied at once. */
#define DEVICE_PIECE_BYTES ((size_t)8 << 20)
/* How many threads may copy to a GPU at a time. */
#define DEVICE_LANES_MAX 4

#endif
