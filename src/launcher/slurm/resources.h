/* resources.h - the resources of an allocation, from Slurm's variables and
 * `scontrol`. */
#ifndef RAYTRAIN_SLURM_RESOURCES_H
#define RAYTRAIN_SLURM_RESOURCES_H

#include "launch/placement.h"

/* The source of an allocation's variables: getenv(), or a table in tests. */
typedef char *slurm_getenv(const char *name);

/*
 * The nodes of the allocation that this process is in, with their CPUs; memory and GPUs
 * only if scaling asks for any, since the controller has to be asked for them.
 * RAYTRAIN_ENOTSUP outside an allocation, RAYTRAIN_EINVAL if Slurm's variables are
 * malformed.
 */
int slurm_resources(const struct scaling_config *scaling, struct resources *out,
                    struct error *err);

/* The two parts of it. Names and CPUs: SLURM_JOB_NODELIST and
 * SLURM_JOB_CPUS_PER_NODE. */
int slurm_resources_nodes(slurm_getenv *get, struct resources *out, struct error *err);
/* Memory and GPUs: this job's line of `scontrol -o -d show job ID`. If a node has
 * several types of GPU, only those of `type` count; NULL: all do. Nodes that are not in
 * *out, and fields that are not understood, are ignored. */
int slurm_resources_details(const char *text, const char *type, struct resources *out,
                            struct error *err);

/*
 * Outside an allocation: all nodes of a partition (NULL: the default one) as
 * configured, free or not. A request that does not fit there never will, but salloc
 * would wait. There are no nodes if the partition is unknown. RAYTRAIN_ENOTSUP without
 * Slurm.
 */
int slurm_resources_partition(const char *partition, const char *type,
                              struct resources *out, struct error *err);
/* The question for sinfo, an argument vector, ... */
#define SLURM_SINFO_QUESTION                                                           \
    {                                                                                  \
        (char *)"sinfo", (char *)"--noheader", (char *)"--Node",                       \
            (char *)"--format=%P|%N|%c|%m|%G", NULL                                    \
    }
/* ... and its output: lines "PARTITION[*]|NODE|CPUS|MEMORY in MiB|GRES". */
int slurm_resources_sinfo(char *text, const char *partition, const char *type,
                          struct resources *out, struct error *err);

#endif
