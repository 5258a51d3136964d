/* site.c - an allocation for the check, in which the same command runs again. */
#include "check/site.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "check/trial_run.h"
#include "config/config_node.h"
#include "train/allocation.h"

#define JOB_NAME "raytrain-check"

/* Is this the exit status of a check that was completed? */
static bool is_of_check(int wait_status)
{
    int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;

    return status == 0 || status == error_exit_status(RAYTRAIN_EFIT) ||
           status == error_exit_status(RAYTRAIN_ESTOPPED);
}

/* Takes room for two workers, on two nodes if possible, or for one if a node cannot
 * have two, for example because it has one GPU. Otherwise like allocation_take(). */
static int spread_take(const struct check_context *context, char *const argv[],
                       int *wait_status, bool *asked, struct error *err)
{
    struct scaling_config size = context->cfg->scaling_config;
    const struct allocation_request request = {.scaling = &size,
                                               .options = &context->opt->submit,
                                               .name = JOB_NAME,
                                               .command = argv};
    int rc;

    if (size.num_workers < 2)
        size.num_workers = size.max_workers = 2;
    if (size.placement_strategy != PLACEMENT_PACK)
        return allocation_take(context->launcher, &request, wait_status, asked, err);
    size.placement_strategy = PLACEMENT_STRICT_SPREAD;
    rc = allocation_take(context->launcher, &request, wait_status, asked, err);
    if (rc >= 0 || err->code != RAYTRAIN_EFIT)
        return rc;
    size.placement_strategy = PLACEMENT_SPREAD;
    rc = allocation_take(context->launcher, &request, wait_status, asked, err);
    if (rc >= 0 || err->code != RAYTRAIN_EFIT ||
        context->cfg->scaling_config.num_workers >= 2)
        return rc;
    size.num_workers = size.max_workers = 1;
    return allocation_take(context->launcher, &request, wait_status, asked, err);
}

/* 1: the check has run in an allocation. 0: continue here; context->unallocated says
 * why if there are no workers. */
static int allocate(struct check_context *context, char *const argv[], int *exit_status,
                    struct error *why)
{
    bool asked = false;
    int wait_status, rc;

    rc = launcher_check(context->launcher, context->opt->srun_args, why);
    if (rc == 0)
        rc = spread_take(context, argv, &wait_status, &asked, why);
    if (rc == 1 && is_of_check(wait_status)) {
        *exit_status = WEXITSTATUS(wait_status);
        return 1;
    }
    if (rc == 1)
        error_set(why, RAYTRAIN_ENOTSUP,
                  "salloc ended without an allocation, or what ran in it was killed: "
                  "status %d",
                  WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                         : 128 + WTERMSIG(wait_status));
    if (rc != 0)
        context->unallocated = why->text;
    context->stopped = asked;
    return 0;
}

int site_check(const struct options *opt, struct train_config *cfg, char *const argv[],
               FILE *out, int *exit_status, struct error *err)
{
    struct check_context context = {.opt = opt, .cfg = cfg};
    struct error why;

    if (scaling_config_validate(&cfg->scaling_config, err) < 0 ||
        path_make_absolute(&cfg->run_config.storage_path, err) < 0 ||
        launcher_find(opt->launcher, &context.launcher, err) < 0)
        return -1;
    if (context.launcher->allocate && allocate(&context, argv, exit_status, &why) == 1)
        return 0;
    return check_site(&context, out, exit_status, err);
}
