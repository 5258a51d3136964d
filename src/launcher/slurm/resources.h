/* resources.h - what an allocation holds, from Slurm's variables and `scontrol`.
 */
#ifndef RAYTRAIN_SLURM_RESOURCES_H
#define RAYTRAIN_SLURM_RESOURCES_H

#include "launch/placement.h"

/* Where an allocation's variables come from; tests have a table, programs getenv(). */
typedef char *slurm_getenv(const char *name);

/*
 * The nodes of the allocation that this process is in, with their CPUs; memory and GPUs
 * only where scaling asks for any, since they cost a question to the controller.
 * RAYTRAIN_ENOTSUP outside an allocation, RAYTRAIN_EINVAL where Slurm's words make no
 * sense.
 */
int slurm_resources(const struct scaling_config *scaling, struct resources *out,
                    struct error *err);

/* The two halves. Names and CPUs: SLURM_JOB_NODELIST and SLURM_JOB_CPUS_PER_NODE. */
int slurm_resources_nodes(slurm_getenv *get, struct resources *out, struct error *err);
/* Memory and GPUs: this job's line of `scontrol -o -d show job ID`. Of several types of GPU
 * on a node the one called `type` counts, without one all do. Nodes that are not in
 * *out, and what is not understood, are passed over. */
int slurm_resources_details(const char *text, const char *type, struct resources *out,
                            struct error *err);

/*
 * Outside an allocation: all nodes of a partition (NULL: the default one) as they are
 * configured, free or not. What does not fit there never will, while salloc would wait
 * for it. No nodes where the partition is not known. RAYTRAIN_ENOTSUP without Slurm.
 */
int slurm_resources_partition(const char *partition, const char *type,
                              struct resources *out, struct error *err);
/* Its answer: lines "PARTITION[*]|NODE|CPUS|MEMORY in MiB|GRES" of `sinfo`. */
int slurm_resources_sinfo(char *text, const char *partition, const char *type,
                          struct resources *out, struct error *err);

#endif
