/* worker_group.c - the ranks behind launcher.h, and a start that failed as an end. */
#include "train/worker_group.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/worker_env.h"
#include "protocol/log_dir.h"
#include "run/run_dir.h"
#include "util/fs.h"

struct worker_group {
    const struct launcher_ops *launcher;
    struct group *group;
    const struct placement *plan;
    const struct attempt_planner *planner;
    char *log_dir;
    bool keep;     /* of launch_spec */
    bool never_up; /* it could not be started, but another try may succeed */
    struct launch_outcome outcome; /* in that case */
};

/* No room for another process, or a helper that died: such errors pass, so
 * FailureConfig decides whether to try again. */
static int start_failed(struct worker_group *g, const struct error *why,
                        struct error *err)
{
    if (why->code != RAYTRAIN_ENOMEM && why->code != RAYTRAIN_ECOMM)
        return error_set(err, why->code, "%s", why->text);
    g->never_up = true;
    g->outcome = (struct launch_outcome){
        .failed = true, .passes = true, .failure = {.never_started = true, .rank = -1}};
    snprintf(g->outcome.failure.message, sizeof g->outcome.failure.message, "%.1000s",
             why->text);
    return 0;
}

static int group_launch(struct worker_group *g, const struct launch_spec *spec,
                        struct error *err)
{
    struct error why;

    if (g->launcher->start(spec, &g->group, &why) == 0)
        return 0;
    g->group = NULL;
    return start_failed(g, &why, err);
}

int worker_group_start(const struct launcher_ops *launcher,
                       const struct launch_spec *spec,
                       const struct attempt_planner *planner, struct worker_group **out,
                       struct error *err)
{
    struct worker_group *g = calloc(1, sizeof *g);
    int rc = -1;

    if (!g || !(g->log_dir = strdup(spec->log_dir)))
        error_no_memory(err);
    else {
        g->launcher = launcher;
        g->plan = spec->plan;
        g->planner = planner;
        g->keep = spec->keep;
        rc = group_launch(g, spec, err);
    }
    if (rc < 0) {
        worker_group_destroy(g);
        return -1;
    }
    *out = g;
    return 0;
}

int worker_group_again(struct worker_group *g, const struct launch_spec *spec,
                       struct error *err)
{
    char *log_dir = strdup(spec->log_dir);

    if (!log_dir)
        return error_no_memory(err);
    free(g->log_dir);
    g->log_dir = log_dir;
    return g->launcher->again(g->group, spec, err);
}

bool worker_group_hears(const struct worker_group *g)
{
    return g->keep && !g->never_up;
}

void worker_group_hear(struct worker_group *g, const json_t *event)
{
    if (worker_group_hears(g))
        g->launcher->hear(g->group, event);
}

int worker_group_fd(const struct worker_group *g)
{
    return g->never_up ? -1 : g->launcher->fd(g->group);
}

int worker_group_advance(struct worker_group *g, bool *done,
                         struct launch_outcome *outcome, struct error *err)
{
    struct error why;

    if (!g->never_up && g->launcher->advance(g->group, done, outcome, &why) == 0)
        return 0;
    if (!g->never_up && start_failed(g, &why, err) < 0)
        return -1;
    *done = true;
    *outcome = g->outcome;
    return 0;
}

int worker_group_signal(struct worker_group *g, int sig, struct error *err)
{
    return g->never_up ? 0 : g->launcher->signal(g->group, sig, err);
}

int worker_group_stop(struct worker_group *g, struct error *err)
{
    return worker_group_signal(g, WORKER_STOP_SIGNAL, err);
}

int worker_group_stop_at_checkpoint(struct worker_group *g, struct error *err)
{
    char *path = run_dir_file(g->log_dir, LOG_DIR_RESIZE);
    int rc;

    if (!path)
        return error_no_memory(err);
    rc = fs_write_atomic(path, "", 0, 0666, err);
    free(path);
    return rc;
}

int worker_group_abandon(struct worker_group *g, struct error *err)
{
    int left = 0;

    if (!g->launcher->abandon || !g->planner || g->never_up)
        return worker_group_kill(g, err);
    for (size_t i = 0; i < g->plan->n_nodes; i++)
        if (!attempt_planner_is_lost(g->planner, g->plan->nodes[i].name))
            left += g->plan->nodes[i].tasks;
    return g->launcher->abandon(g->group, left, err);
}

int worker_group_kill(struct worker_group *g, struct error *err)
{
    return g->never_up ? 0 : g->launcher->kill(g->group, err);
}

void worker_group_destroy(struct worker_group *g)
{
    if (!g)
        return;
    if (g->group)
        g->launcher->destroy(g->group);
    free(g->log_dir);
    free(g);
}
