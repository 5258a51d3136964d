/* slurmd_probe.h - finds the nodes of the allocation that answer. */
#ifndef RAYTRAIN_SLURM_SLURMD_PROBE_H
#define RAYTRAIN_SLURM_SLURMD_PROBE_H

#include "launch/node_probe.h"

/* The slot `ask` of launcher.h. */
void slurm_probe_ask(enum node_purpose purpose, char *const *nodes, size_t n,
                     enum node_answer *answers, struct node_memo *memo);

/* A pure function: the seconds to wait for the connections of a batch if n nodes are
 * asked in batches of this size; all batches together take at most 4 s. */
double slurm_probe_batch_s(size_t n, size_t batch);

#endif
