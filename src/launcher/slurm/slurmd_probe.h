/* slurmd_probe.h - do nodes of the allocation answer? */
#ifndef RAYTRAIN_SLURM_SLURMD_PROBE_H
#define RAYTRAIN_SLURM_SLURMD_PROBE_H

#include "launch/node_probe.h"

/* The slot `ask` of launcher.h. */
void slurm_probe_ask(enum node_purpose purpose, char *const *nodes, size_t n,
                     enum node_answer *answers, struct node_memo *memo);

/* Pure: for how many seconds the connections of a batch are awaited, if n nodes are asked
 * in batches of that size: all batches together take 4 s at most. */
double slurm_probe_batch_s(size_t n, size_t batch);

#endif
