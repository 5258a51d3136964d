#include "train/replica_cleanup.h"

#include <stdlib.h>
#include <string.h>

#include "replica/node_image.h"
#include "run/run_dir.h"
#include "util/attention.h"
#include "util/clock.h"
#include "util/fs.h"

#define STEP_S 15.0

/* A worker a node, which asks for nothing but a CPU. */
static int plan_make(const struct placement *of, struct placement *plan)
{
    *plan = (struct placement){
        .workers = (int)of->n_nodes, .n_nodes = of->n_nodes, .cpus_per_worker = 1};
    plan->nodes = calloc(of->n_nodes, sizeof *plan->nodes);
    for (size_t i = 0; plan->nodes && i < of->n_nodes; i++)
        plan->nodes[i] = (struct placed_node){of->nodes[i].name, 1};
    return plan->nodes ? 0 : -1;
}

static void group_await(const struct launcher_ops *launcher, struct group *group)
{
    double until = clock_now() + STEP_S, left;
    struct launch_outcome outcome = {.rank = -1};
    bool done = false;

    while (launcher->advance(group, &done, &outcome, NULL) == 0 && !done &&
           !attention_is_called() && (left = until - clock_now()) > 0)
        attention_wait(launcher->fd(group), (int)(left * 1e3) + 1);
}

/* The logs of the workers are not to be written over: the step's own go with it. */
static void step_run(const struct worker_group_spec *spec, char *path)
{
    static char program[] = "/bin/rm", force[] = "-rf", end[] = "--";
    char *argv[] = {program, force, end, path, NULL};
    char *log_dir = run_dir_file(spec->run_dir, "logs/.tidy");
    struct placement plan;
    struct launch_spec launch = {.plan = &plan,
                                 .argv = argv,
                                 .log_dir = log_dir,
                                 .job_name = spec->cfg->run_config.name,
                                 .srun_args = spec->opt->srun_args,
                                 .scaling = &spec->cfg->scaling_config,
                                 .overlap = spec->overlap};
    struct group *group = NULL;

    if (log_dir && fs_mkdirs(log_dir, 0777, NULL) == 0 &&
        plan_make(spec->plan, &plan) == 0) {
        if (spec->launcher->start(&launch, &group, NULL) == 0) {
            group_await(spec->launcher, group);
            spec->launcher->destroy(group);
        }
        free(plan.nodes);
        fs_remove_tree(log_dir, NULL);
    }
    free(log_dir);
}

void node_memory_clear(const struct worker_group_spec *spec)
{
    char id[RUN_ID_LENGTH + 1], *path;

    if (spec->cfg->run_config.checkpoint_config.replicas == 0 ||
        run_dir_id(spec->run_dir, id, NULL) < 0)
        return;
    image_dir_remove(IMAGE_MEMORY, id, NULL);
    if (spec->launcher == &launcher_local)
        return;
    path = image_dir_path(IMAGE_MEMORY, id);
    if (path)
        step_run(spec, path);
    free(path);
}
