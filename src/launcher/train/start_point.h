/*
 * start_point.h - the checkpoint that a run starts from (resume_from_checkpoint), if
 * the run already exists: it continues from its own checkpoints, and while it has none,
 * from the one that it was started from (run/run_start.h).
 */
#ifndef RAYTRAIN_TRAIN_START_POINT_H
#define RAYTRAIN_TRAIN_START_POINT_H

#include "config/options.h"
#include "run/run_start.h"

/*
 * Complete cfg with the checkpoint that the run was started from. If that is the one of
 * --resume=CHECKPOINT, opt->resume is set: the run is continued. RAYTRAIN_EINVAL:
 * another checkpoint is given, or its contents have changed; RAYTRAIN_ESTORAGE: it is
 * gone, and the run has no own checkpoint. finished: the run may have nothing to do, so
 * the file is not needed.
 */
int start_point_settle(const char *run_dir, bool finished, struct options *opt,
                       struct train_config *cfg, struct error *err);
/* Before an attempt, with the final configuration: is the file unchanged, if it is
 * needed? */
int start_point_check(const char *run_dir, const struct train_config *cfg,
                      struct error *err);

#endif
