/*
 * start_point.h - the checkpoint that a run starts from (resume_from_checkpoint), when
 * the run is there already: it goes on from its own checkpoints, and as long as it has
 * none, from the one that it was started from (run/run_start.h).
 */
#ifndef RAYTRAIN_TRAIN_START_POINT_H
#define RAYTRAIN_TRAIN_START_POINT_H

#include "config/options.h"
#include "run/run_start.h"

/*
 * Complete cfg with the checkpoint that the run was started from. If that is the one of
 * --resume=CHECKPOINT, opt->resume is set: the run is continued. RAYTRAIN_EINVAL:
 * another checkpoint is given, or its contents have changed; RAYTRAIN_ESTORAGE: it is
 * gone, and the run has no checkpoint of its own. finished: it may have nothing to do,
 * so that the file is not needed.
 */
int start_point_settle(const char *run_dir, bool finished, struct options *opt,
                       struct train_config *cfg, struct error *err);
/* With a configuration that is settled, before an attempt: is the file as it was, if it
 * is needed? */
int start_point_check(const char *run_dir, const struct train_config *cfg,
                      struct error *err);

#endif
