#include "watch/node_return.h"

#define RETURNS_MAX 64 /* lost nodes that are asked at a time */

void node_return_ask(const struct worker_group_spec *spec, struct node_probe **probe)
{
    char *names[RETURNS_MAX];
    size_t n = attempt_planner_awaited(spec->planner, names, RETURNS_MAX);

    if (n > 0)
        node_probe_start(spec->launcher->ask, NODE_IS_OURS, names, n, probe, NULL);
}

int node_return_take(const struct worker_group_spec *spec,
                     struct callback_list *callbacks, const struct node_probe *probe,
                     bool *awaited)
{
    int back = 0;

    for (size_t i = 0; i < node_probe_count(probe); i++) {
        const char *name = node_probe_node(probe, i);
        enum node_answer answer = node_probe_answer(probe, i);

        if (awaited && answer == NODE_REFUSES)
            *awaited = true;
        if (answer != NODE_ANSWERS ||
            !attempt_planner_regain(spec->planner, name))
            continue;
        callback_note(callbacks, "node %s is back", name);
        back++;
    }
    return back;
}
