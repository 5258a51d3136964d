/* gpu_share.h - this worker's own GPUs among those of its Slurm step. */
#ifndef RAYTRAIN_RANK_GPU_SHARE_H
#define RAYTRAIN_RANK_GPU_SHARE_H

#include "util/error.h"

/* Each task sees all GPUs of the step on its node if these are of a node rather than of
 * a task, because `sharing` workers have the same one (1: none do); and before
 * Slurm 21.08, where --gpus-per-task sizes a step but binds no task. Leave `each` of
 * them visible in this process's environment: the first `sharing` tasks of a node have
 * the first ones, and so on. Nothing changes if Slurm has bound the tasks, or if
 * --gpu-bind was given. */
int gpu_share_take(int each, int sharing, struct error *err);

#endif
