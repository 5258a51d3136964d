/* accelerators.h - which GPUs this process could open, though its run has asked for
 * none. */
#ifndef RAYTRAIN_BACKEND_ACCELERATORS_H
#define RAYTRAIN_BACKEND_ACCELERATORS_H

#include <stdbool.h>

/* The number of NVIDIA GPUs that CUDA would find: those that `visible`
 * (CUDA_VISIBLE_DEVICES, or NULL) names, or else those whose device in the directory
 * `dev` ("/dev") can be opened, which the device cgroup of a Slurm step may forbid.
 * Does not open them. */
int accelerators_nvidia(const char *visible, const char *dev);

/* Is there a GPU of NVIDIA, AMD or Intel, or another accelerator? */
bool accelerators_any(const char *visible, const char *dev);

#endif
