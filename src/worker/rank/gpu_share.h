/* gpu_share.h - this worker's own GPUs among those of its Slurm step. */
#ifndef RAYTRAIN_RANK_GPU_SHARE_H
#define RAYTRAIN_RANK_GPU_SHARE_H

#include "util/error.h"

/* Before Slurm 21.08, --gpus-per-task sizes a step but binds no task: each one sees all
 * GPUs of the step on its node. Leave `each` of them visible in this process's
 * environment. Nothing changes if Slurm has bound the tasks, or if --gpu-bind was
 * given. */
int gpu_share_take(int each, struct error *err);

#endif
