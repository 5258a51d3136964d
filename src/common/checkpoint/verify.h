/* verify.h - verifies chunks, and cuts that work into shares. */
#ifndef RAYTRAIN_CHECKPOINT_VERIFY_H
#define RAYTRAIN_CHECKPOINT_VERIFY_H

#include "checkpoint/part_reader.h"

/* Chunks [first, first + n) of a part, to be verified. */
struct verify_piece {
    struct part part;
    uint64_t first, n;
};
/* One share of the work. */
struct verify_work {
    struct verify_piece *pieces;
    uint64_t *hashes; /* of their chunks, one piece after the other */
    size_t n, n_hashes;
    size_t room, hashes_room;
};
/* Where the work of a checkpoint is being cut into shares. It owns no memory. */
struct verify_cut {
    const raytrain_checkpoint *ck;
    int of;               /* shares */
    uint64_t done, total; /* bytes, and a constant for each chunk */
    struct part_reader parts;
    struct table hashes;
    struct part part; /* the last one that was read */
    uint64_t chunk;   /* of it: the next one */
};
void verify_cut_start(struct verify_cut *cut, const raytrain_checkpoint *ck, int of);
/* The next share: call it for 0, 1, 2 ... in turn. *work has room for it; without memory
 * (pieces is NULL) it is only counted. */
int verify_cut_next(struct verify_cut *cut, int share, struct verify_work *work,
                    struct error *err);
int verify_work_room(struct verify_work *work, size_t n, size_t n_hashes,
                     struct error *err);
/* RAYTRAIN_ECORRUPT names the first damaged dataset. Only the tensors of ck are needed. */
int verify_work_do(const raytrain_checkpoint *ck, const struct verify_work *work,
                   struct error *err);
void verify_work_clear(struct verify_work *work);

#endif
