/* replica_cleanup.c - replicas removed on this node, and on others by a short step. */
#include "train/replica_cleanup.h"

#include <stdlib.h>
#include <string.h>

#include "replica/node_image.h"
#include "run/run_dir.h"
#include "train/worker_group.h"
#include "event/attention.h"
#include "util/clock.h"
#include "util/fs.h"

#define STEP_S 15.0

/* One task per node, with one CPU. */
static int plan_make(const struct placement *of, struct placement *plan)
{
    *plan = (struct placement){
        .workers = (int)of->n_nodes, .n_nodes = of->n_nodes, .cpus_per_worker = 1};
    plan->nodes = calloc(of->n_nodes, sizeof *plan->nodes);
    for (size_t i = 0; plan->nodes && i < of->n_nodes; i++)
        plan->nodes[i] = (struct placed_node){.name = of->nodes[i].name, .tasks = 1};
    return plan->nodes ? 0 : -1;
}

static void group_await(struct worker_group *group)
{
    double until = clock_now() + STEP_S, left;
    struct launch_outcome outcome = {.failure = {.rank = -1}};
    bool done = false;

    while (worker_group_advance(group, &done, &outcome, NULL) == 0 && !done &&
           !attention_is_called() && (left = until - clock_now()) > 0)
        attention_wait(worker_group_fd(group), (int)(left * 1e3) + 1);
}

/* The step has its own logs, which are removed, so as not to overwrite those of the
 * workers. */
static void step_run(const struct run *run, char *path)
{
    static char program[] = "/bin/rm", force[] = "-rf", end[] = "--";
    char *argv[] = {program, force, end, path, NULL};
    char *log_dir = run_dir_file(run->dir, "logs/.tidy");
    struct placement plan;
    struct launch_spec spec = {.plan = &plan,
                               .argv = argv,
                               .log_dir = log_dir,
                               .job_name = run->cfg->run_config.name,
                               .srun_args = run->opt->srun_args,
                               .scaling = &run->cfg->scaling_config,
                               .overlap = run->overlap};
    struct worker_group *group = NULL;

    if (log_dir && fs_mkdirs(log_dir, 0777, NULL) == 0 &&
        plan_make(&run->plan, &plan) == 0) {
        if (worker_group_start(run->launcher, &spec, NULL, &group, NULL) == 0)
            group_await(group);
        worker_group_destroy(group);
        free(plan.nodes);
        fs_remove_tree(log_dir, NULL);
    }
    free(log_dir);
}

void replica_cleanup(const struct run *run)
{
    char id[RUN_ID_LENGTH + 1], *path;

    if (run->cfg->run_config.checkpoint_config.replicas == 0 ||
        run_dir_id(run->dir, id, NULL) < 0)
        return;
    image_dir_remove(IMAGE_MEMORY, id, NULL);
    if (!run->launcher->ask) /* there are no other nodes */
        return;
    path = image_dir_path(IMAGE_MEMORY, id);
    if (path)
        step_run(run, path);
    free(path);
}
