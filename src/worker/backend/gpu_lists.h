/*
 * gpu_lists.h - the GPUs of all ranks of a node as one list, "0,1,2,3" (the value of
 * CUDA_VISIBLE_DEVICES).
 *
 * Scripts for torch call set_device(LOCAL_RANK), and NCCL must see the GPUs of its
 * peers: so the first GPU of local rank r is at place r, followed by the second GPUs of
 * all ranks, and so on.
 */
#ifndef RAYTRAIN_BACKEND_GPU_LISTS_H
#define RAYTRAIN_BACKEND_GPU_LISTS_H

#include "comm/comm.h"
#include "wireup/wireup.h"

/*
 * lists[0..n): what each local rank sees, n ranks with `each` GPUs. Either all see the
 * same GPUs, which are those of local rank 0, then those of local rank 1, and so on; or
 * each sees its own. *all is malloc'ed; NULL if the lists are neither, for example
 * because each rank numbers its own GPUs from 0 on.
 */
int gpu_lists_merge(char *const lists[], int n, int each, char **all,
                    struct error *err);

/* COLLECTIVE: the same for CUDA_VISIBLE_DEVICES of the ranks of this node. */
int gpu_lists_share(struct comm *c, const struct world *world, int each, char **all,
                    struct error *err);

#endif
