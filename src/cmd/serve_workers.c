/* serve_workers.c - in the first process, choose a launcher and check that all workers
 * fit; in the process of a worker, set its resources. */
#include "serve_workers.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "crew/member.h"
#include "launch/batch_system.h"
#include "launch/launcher.h"
#include "local/machine.h"

/* ---- The first process ---- */

/* If this process is in a step, that step holds the resources its workers would wait
 * for. */
static int serve_launcher_choose(const char *typed, const struct launcher_ops **out,
                                 struct error *err)
{
    if (launcher_find(typed, out, err) < 0)
        return -1;
    if (strcmp(typed, "auto") == 0 && launcher_in_step(*out))
        return launcher_find("local", out, err);
    return launcher_check_start(launcher_name(*out), err);
}

/*
 * Workers of the next version start beside the present ones. Local workers share CPUs
 * and GPUs with them; steps do not.
 */
static struct scaling_config needs(const struct launcher_ops *launcher,
                                   const struct train_config *cfg, size_t models,
                                   size_t follows)
{
    struct scaling_config all = cfg->scaling_config;
    size_t groups = models + (launcher->in_step ? follows : 0);

    if (__builtin_mul_overflow(all.num_workers, groups, &all.num_workers))
        all.num_workers = INT_MAX;
    all.max_workers = all.num_workers;
    all.spare_nodes = 0;
    all.placement_strategy = PLACEMENT_STRICT_PACK;
    all.on_this_node = true;
    return all;
}

static int workers_fit(const struct launcher_ops *launcher,
                       const struct train_config *cfg, size_t models, size_t follows,
                       struct error *err)
{
    const struct scaling_config all = needs(launcher, cfg, models, follows);
    struct resources have = {0};
    struct placement plan = {0};
    int rc;

    if (launcher->in_step && all.gpu_parts > 0)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "workers of a service cannot share GPUs as steps of Slurm, "
                         "each of which has its own; give --launcher local, or a whole "
                         "number of --gpus-per-worker");
    if (launcher->resources(&all, &have, err) < 0)
        return -1;
    rc = placement_plan(&all, &have, &plan, err);
    placement_clear(&plan);
    resources_clear(&have);
    if (rc < 0 && launcher->in_step && follows > 0)
        error_prefix(err,
                     "--follow starts the workers of the next version beside those "
                     "of the present one; give the job more, or --launcher local, "
                     "whose workers share it");
    if (rc < 0 && models > 1)
        error_prefix(err, "each of the %zu models has %d worker%s", models,
                     cfg->scaling_config.num_workers,
                     cfg->scaling_config.num_workers == 1 ? "" : "s");
    return rc;
}

bool serve_is_in_job(void)
{
    return batch_find() != NULL;
}

int serve_workers_plan(const char *launcher, const struct train_config *cfg,
                       size_t models, size_t follows, struct error *err)
{
    const struct launcher_ops *chosen;

    if (serve_launcher_choose(launcher, &chosen, err) < 0 ||
        workers_fit(chosen, cfg, models, follows, err) < 0)
        return -1;
    if (setenv(SERVE_LAUNCHER, launcher_name(chosen), 1) < 0)
        return error_no_memory(err);
    return 0;
}

/* ---- The process of a worker ---- */

int serve_worker_settle(const char *launcher, struct scaling_config *scaling,
                        struct error *err)
{
    const char *index = getenv(MEMBER_INDEX);

    scaling->num_workers = scaling->max_workers = 1;
    scaling->spare_nodes = 0;
    scaling->placement_strategy = PLACEMENT_PACK;
    scaling->on_this_node = true;
    if (!scaling->use_gpu || strcmp(launcher, "local") != 0)
        return 0;
    return machine_gpus_share(
        index ? atoi(index) / scaling_config_workers_per_gpu(scaling) : 0,
        scaling->gpus_per_worker > 0 ? scaling->gpus_per_worker : 1, err);
}
