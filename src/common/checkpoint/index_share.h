/* index_share.h - gives the index, and shares of the work of verifying, to all ranks. */
#ifndef RAYTRAIN_CHECKPOINT_INDEX_SHARE_H
#define RAYTRAIN_CHECKPOINT_INDEX_SHARE_H

#include "checkpoint/verify.h"

/* COLLECTIVE: rank 0 cuts the work; each rank gets its share, to be cleared in any case.
 */
int verify_work_scatter(const raytrain_checkpoint *ck, struct comm *comm,
                        struct verify_work *work, struct error *err);
/* COLLECTIVE: the other ranks get head, report, tensors and parts of rank 0's. */
int index_bcast(raytrain_checkpoint *ck, struct comm *comm, struct error *err);

#endif
