#include "train/requeue.h"

#include <signal.h>

#include "slurm/job.h"

#define FLAG "--requeue-on-stop"

int requeue_check(const struct train_config *cfg, const struct options *opt,
                  struct error *err)
{
    struct slurm_job job;

    if (!cfg->run_config.requeue_on_stop)
        return 0;
    if (!opt->resume)
        return error_set(err, RAYTRAIN_EINVAL,
                         FLAG " needs --resume: the job's script is run again, and is "
                              "to continue this run");
    if (!slurm_job_id())
        return error_set(err, RAYTRAIN_EINVAL,
                         FLAG " is for batch jobs of Slurm, and this is none "
                              "(SLURM_JOB_ID is not set); submit a script with sbatch");
    if (slurm_job_await(&job, err) < 0)
        return error_prefix(err, FLAG);
    if (!job.batch)
        return error_set(err, RAYTRAIN_EINVAL,
                         FLAG " is for batch jobs, and job %s has no batch script; "
                              "submit one with sbatch",
                         slurm_job_id());
    if (!job.requeue)
        return error_set(err, RAYTRAIN_EINVAL,
                         FLAG ": job %s may not go back to the queue; submit it with "
                              "sbatch --requeue (now: scontrol update JobId=%s "
                              "Requeue=1)",
                         slurm_job_id(), slurm_job_id());
    return 0;
}

/* A job that is cancelled, or whose time is over, is not running any more. */
bool requeue_is_due(const struct train_config *cfg, const struct run_outcome *outcome)
{
    struct slurm_job job;

    if (!cfg->run_config.requeue_on_stop || outcome->status != RUN_STOPPED ||
        outcome->signal == SIGINT || outcome->signal == SIGHUP)
        return false;
    return slurm_job_await(&job, NULL) == 0 && job.running;
}
