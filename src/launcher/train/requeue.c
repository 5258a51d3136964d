/* requeue.c - the batch system asked before a run starts, and after it was stopped. */
#include "train/requeue.h"

#include <signal.h>
#include <stdio.h>

#include "launch/batch_system.h"
#include "launch/time_margin.h"

#define FLAG "--requeue-on-stop"

/* Could it ever be requeued? */
static int requeue_check(const struct batch_ops *batch, const struct options *opt,
                         struct error *err)
{
    if (!opt->resume)
        return error_set(err, RAYTRAIN_EINVAL,
                         FLAG " needs --resume: the job's script is run again, and is "
                              "to continue this run");
    if (!batch)
        return error_set(err, RAYTRAIN_EINVAL,
                         FLAG " is for batch jobs of Slurm, and this is not one "
                              "(SLURM_JOB_ID is not set); submit a script with sbatch");
    return 0;
}

/* A job with little time left may get more when it is requeued. */
static int margin_check(const struct batch_job *job, int margin_s, struct error *err)
{
    char name[sizeof job->name + sizeof "job "];

    if (job->end == 0 || job->start == 0 || job->preempted)
        return 0;
    snprintf(name, sizeof name, "job %s", job->name);
    return time_margin_check(name, job->end - job->start, margin_s, "sbatch --time",
                             err);
}

int job_check(const struct train_config *cfg, const struct options *opt,
              struct error *err)
{
    const struct batch_ops *batch = batch_find();
    bool requeue = cfg->run_config.requeue_on_stop;
    int margin_s = cfg->run_config.stop_before_end_s;
    struct batch_job job;

    if (requeue && requeue_check(batch, opt, err) < 0)
        return -1;
    if (!batch || (!requeue && margin_s == 0))
        return 0;
    if (!requeue) /* do not wait for the batch system only for the margin */
        return batch->ask(&job, NULL) < 0 ? 0 : margin_check(&job, margin_s, err);
    if (batch->await(&job, err) < 0 || batch->requeue_check(&job, err) < 0)
        return error_prefix(err, FLAG);
    return margin_check(&job, margin_s, err);
}

/* A job that was cancelled, or has reached its time limit, is not running any more. */
bool requeue_is_due(const struct train_config *cfg, const struct run_outcome *outcome,
                    struct batch_job *job)
{
    const struct batch_ops *batch = batch_find();

    if (!cfg->run_config.requeue_on_stop || outcome->status != RUN_STOPPED ||
        outcome->fruitless || outcome->used_up || outcome->failure.signal == SIGINT ||
        outcome->failure.signal == SIGHUP)
        return false;
    return batch && batch->await(job, NULL) == 0 && job->running;
}
