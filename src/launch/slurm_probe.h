/* slurm_probe.h - do nodes of the allocation answer? */
#ifndef RAYTRAIN_LAUNCH_SLURM_PROBE_H
#define RAYTRAIN_LAUNCH_SLURM_PROBE_H

#include <stdbool.h>

#include "launch/node_probe.h"

/* A node_ask for launcher.h. */
void slurm_probe_ask(char *const *nodes, size_t n, enum node_answer *answers);

/* The value of KEY=VALUE, a word of its own, in what scontrol has printed. */
bool slurm_probe_field(const char *text, const char *key, char *value, size_t size);

#endif
