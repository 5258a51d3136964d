/*
 * start_obstacles.c - external obstacles to starting workers: a node that cannot start
 * any, a step of an earlier attempt that holds what they need, a prolog, a controller
 * that does not answer.
 */
#include "train/attempt.h"
#include "util/argv.h"

static bool ready_wait(void *run, double seconds)
{
    return run_wait(run, seconds);
}

/* A node that answers, but could not start workers: other nodes may not have its
 * problem. */
static bool node_avoid(struct attempt *a)
{
    if (!a->outcome.failure.never_started || a->outcome.failure.rank >= 0 ||
        !a->outcome.failure.host[0] || a->outcome.failure.code != RAYTRAIN_OK ||
        !a->run->launcher->ask)
        return false;
    attempt_planner_lose(a->run->planner, a->outcome.failure.host);
    return true;
}

/* Before Slurm 22.05, steps share only CPUs: the memory and GPUs of the other step stay
 * taken until Slurm has noticed that its node is dead. */
static void held_nodes_leave(struct attempt *a, char *const *nodes)
{
    callback_note(a->run->callbacks,
                  "a step of an earlier attempt, which Slurm has not ended yet, still "
                  "holds memory or GPUs of %s%s: continuing without",
                  nodes[0], nodes[1] ? " and other nodes" : "");
    for (; *nodes; nodes++)
        attempt_planner_lose(a->run->planner, *nodes);
}

/*
 * Some steps never end in Slurm: if srun was killed early, or the tasks did not come
 * together (OpenPMIx 4.2). Such a step no longer trains, but keeps its CPUs. If one of
 * this run may be why an attempt did not start, later steps share the nodes with it.
 */
static bool step_is_left(struct attempt *a)
{
    bool doubtful = a->outcome.busy || a->failure.cause == CAUSE_START;
    bool shared = a->run->overlap;
    char **nodes;

    if (!a->run->launcher->leftovers || !doubtful || (shared && !a->outcome.busy))
        return false;
    nodes = a->run->launcher->leftovers(a->run->cfg->run_config.name);
    if (!nodes)
        return false;
    if (shared)
        held_nodes_leave(a, nodes);
    a->run->overlap = true;
    argv_free(nodes);
    return true;
}

static void ready_note(void *run, const char *text)
{
    callback_note(((struct run *)run)->callbacks, "%s", text);
}

/* True: the group could not be started because the batch system was not ready, but it
 * is ready now. */
static bool start_was_barred(struct attempt *a)
{
    const struct launcher_ops *launcher = a->run->launcher;

    return a->outcome.failure.never_started && launcher->await_ready &&
           launcher->await_ready(ready_wait, ready_note, a->run);
}

bool start_obstacles_clear(struct attempt *a)
{
    bool left = step_is_left(a), avoided = node_avoid(a), barred = start_was_barred(a);

    return left || avoided || barred;
}
