#include "watch/node_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_S 0.05 /* how often a question on its way is looked at */

void node_lost_describe(const char *node, enum node_answer answer, size_t others,
                        char *text, size_t size)
{
    char more[32] = "";

    if (others > 0)
        snprintf(more, sizeof more, " and %zu more", others);
    snprintf(text, size, "lost node %.200s%s: it %s", node, more,
             answer == NODE_REFUSES ? "refuses connections to slurmd"
                                    : "does not answer");
}

static bool in_plan(const struct placement *plan, const char *node)
{
    for (size_t i = 0; i < plan->n_nodes; i++)
        if (strcmp(plan->nodes[i].name, node) == 0)
            return true;
    return false;
}

static bool is_unusable(enum node_answer answer)
{
    return answer == NODE_SILENT || answer == NODE_REFUSES;
}

static bool some_answer(const struct node_probe *probe)
{
    for (size_t i = 0; i < node_probe_count(probe); i++)
        if (node_probe_answer(probe, i) == NODE_ANSWERS)
            return true;
    return false;
}

static bool answers_take(const struct worker_group_spec *spec,
                         const struct node_probe *probe, struct watch_finding *finding)
{
    const char *first = NULL;
    enum node_answer answer = NODE_UNKNOWN;
    size_t n = 0;

    for (size_t i = 0; i < node_probe_count(probe); i++) {
        const char *node = node_probe_node(probe, i);

        if (!is_unusable(node_probe_answer(probe, i)))
            continue;
        attempt_planner_lose(spec->planner, node);
        if (!in_plan(spec->plan, node) || n++ > 0)
            continue;
        first = node;
        answer = node_probe_answer(probe, i);
    }
    if (n == 0)
        return false;
    *finding = (struct watch_finding){.cause = CAUSE_NODE_LOST, .rank = -1};
    snprintf(finding->host, sizeof finding->host, "%s", first);
    node_lost_describe(first, answer, n - 1, finding->message, sizeof finding->message);
    return true;
}

bool node_survey(const struct worker_group_spec *spec, wait_a_while *wait, void *arg,
                 struct watch_finding *finding)
{
    struct node_probe *probe = NULL;
    char **names = attempt_planner_present(spec->planner);
    size_t n = 0;
    bool found = false;

    while (names && names[n])
        n++;
    if (n > 0)
        node_probe_start(spec->launcher->ask, NODE_IS_OURS, names, n, &probe, NULL);
    free(names);
    while (probe && !node_probe_done(probe) && wait(arg, LOOK_S))
        ;
    if (probe && node_probe_done(probe) && some_answer(probe))
        found = answers_take(spec, probe, finding);
    node_probe_destroy(probe);
    return found;
}
