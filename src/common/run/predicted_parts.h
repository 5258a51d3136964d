/*
 * predicted_parts.h - the shards of a prediction in its run directory: RUN/shards/shard-NNNNNN,
 * which are complete once they have their names.
 */
#ifndef RAYTRAIN_RUN_PREDICTED_PARTS_H
#define RAYTRAIN_RUN_PREDICTED_PARTS_H

#include <stdint.h>

#define RUN_SHARDS "shards"
#define RUN_SHARD  "shard-" /* and its number, in six digits or more */

/* How many there are; 0 also if the directory cannot be read. */
int64_t run_shards_count(const char *run_dir);

#endif
