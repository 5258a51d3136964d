/* gpu_facts.h - what a process finds out about its GPUs, for --check. */
#ifndef RAYTRAIN_SITE_GPU_FACTS_H
#define RAYTRAIN_SITE_GPU_FACTS_H

#include <jansson.h>

/*
 * Of NVIDIA's GPUs with these names (CUDA_VISIBLE_DEVICES; NULL: all), by NVML:
 *
 *   {"driver": version, "mps": is a daemon of MPS running?,
 *    "devices": [{"number", "pci", "mode": enum nvml_mode, "total", "free": bytes}]}
 *
 * null: the driver's library is not here, or does not start; "silent": it has not
 * answered within limit_s seconds. A thread may be left behind then.
 */
json_t *gpu_facts(const char *visible, double limit_s);

#endif
