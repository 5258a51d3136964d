/*
 * predicted_parts.h - the parts of a prediction in its run directory, which are
 * complete once they have their names: RUN/shards/shard-NNNNNN, as the first versions
 * named them.
 */
#ifndef RAYTRAIN_RUN_PREDICTED_PARTS_H
#define RAYTRAIN_RUN_PREDICTED_PARTS_H

#include <stdint.h>

#define RUN_PARTS "shards"
#define RUN_PART  "shard-" /* and its number, in six digits or more */

/* The number of complete ones; 0 also if the directory cannot be read. */
int64_t run_parts_count(const char *run_dir);

#endif
