/* site_check.h - for raytrain-run --check: is Slurm configured as runs need it? */
#ifndef RAYTRAIN_SLURM_SITE_CHECK_H
#define RAYTRAIN_SLURM_SITE_CHECK_H

#include "launch/findings.h"

/* The slot `examine` of launcher.h. */
void slurm_site_check(const char *srun_args, struct findings *findings);

/* Judge the output of `scontrol show config`, of `scontrol --oneliner show partition`,
 * and of `sinfo` with the format SLURM_SITE_NODES. */
void slurm_site_judge_config(const char *text, struct findings *findings);
void slurm_site_judge_partitions(const char *text, struct findings *findings);
#define SLURM_SITE_NODES "%N|%T"
void slurm_site_judge_nodes(const char *text, struct findings *findings);

#endif
