#include "train/requeue.h"

#include <signal.h>

#include "launch/batch_system.h"

#define FLAG "--requeue-on-stop"

int requeue_check(const struct train_config *cfg, const struct options *opt,
                  struct error *err)
{
    const struct batch_ops *batch = batch_find();

    if (!cfg->run_config.requeue_on_stop)
        return 0;
    if (!opt->resume)
        return error_set(err, RAYTRAIN_EINVAL,
                         FLAG " needs --resume: the job's script is run again, and is "
                              "to continue this run");
    if (!batch)
        return error_set(err, RAYTRAIN_EINVAL,
                         FLAG " is for batch jobs of Slurm, and this is none "
                              "(SLURM_JOB_ID is not set); submit a script with sbatch");
    return batch->requeue_check(err) < 0 ? error_prefix(err, FLAG) : 0;
}

/* A job that is cancelled, or whose time is over, is not running any more. */
bool requeue_is_due(const struct train_config *cfg, const struct run_outcome *outcome,
                    struct batch_job *job)
{
    const struct batch_ops *batch = batch_find();

    if (!cfg->run_config.requeue_on_stop || outcome->status != RUN_STOPPED ||
        outcome->failure.signal == SIGINT || outcome->failure.signal == SIGHUP)
        return false;
    return batch && batch->await(job, NULL) == 0 && job->running;
}
