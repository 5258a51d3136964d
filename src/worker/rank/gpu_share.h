/* gpu_share.h - this worker's own GPUs among those of its Slurm step. */
#ifndef RAYTRAIN_RANK_GPU_SHARE_H
#define RAYTRAIN_RANK_GPU_SHARE_H

#include "util/error.h"

/* A step asks for the GPUs of its nodes, and each task sees all GPUs of its node. Leave
 * `each` of them visible in this process's environment: the first `sharing` tasks of a
 * node have the first ones, and so on; with 1, no GPU is shared. This does not prevent
 * the process from opening the others. Does nothing if Slurm has bound the tasks, or if
 * --gpu-bind was given. */
int gpu_share_take(int each, int sharing, struct error *err);

#endif
