/* node_survey.c - probes of all nodes of a failed attempt, and of lost nodes that may
 * be back. How nodes are probed is in launch/node_probe.c. */
#include "watch/node_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/name_index.h"

#define RETURNS_MAX   64   /* lost nodes in one probe */
#define SURVEY_LOOK_S 0.05 /* how often a running probe is polled */

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

static bool survey_answers_take(const struct watch_view *view,
                                const struct node_probe *probe, struct failure *finding)
{
    const char *first = NULL;
    const struct placement *plan = view->plan;
    enum node_answer answer = NODE_UNKNOWN;
    struct name_index planned;
    size_t n = 0;

    if (name_index_make(&planned, &plan->nodes[0].name, sizeof *plan->nodes,
                        plan->n_nodes) < 0)
        return false; /* the nodes are asked again */
    for (size_t i = 0; i < node_probe_count(probe); i++) {
        const char *node = node_probe_node(probe, i);

        if (!is_unusable(node_probe_answer(probe, i)))
            continue;
        attempt_planner_lose(view->planner, node);
        if (name_index_find(&planned, node) == NAME_INDEX_NONE || n++ > 0)
            continue;
        first = node;
        answer = node_probe_answer(probe, i);
    }
    name_index_clear(&planned);
    if (n == 0)
        return false;
    *finding = (struct failure){.cause = CAUSE_NODE_LOST, .rank = -1};
    snprintf(finding->host, sizeof finding->host, "%s", first);
    node_lost_describe(first, answer, n - 1, finding->message, sizeof finding->message);
    return true;
}

bool node_survey(const struct watch_view *view, launcher_wait *wait, void *arg,
                 struct failure *finding)
{
    struct node_probe *probe = NULL;
    char **names = attempt_planner_present(view->planner);
    size_t n = 0;
    bool found = false;

    while (names && names[n])
        n++;
    if (n > 0)
        node_probe_start(view->launcher->ask, NODE_IS_OURS, names, n, &probe, NULL);
    free(names);
    while (probe && !node_probe_done(probe) && wait(arg, SURVEY_LOOK_S))
        ;
    if (probe && node_probe_done(probe) && some_answer(probe))
        found = survey_answers_take(view, probe, finding);
    node_probe_destroy(probe);
    return found;
}

/* ---- Nodes that were lost ---- */

void node_return_ask(const struct watch_view *view, struct node_probe **probe)
{
    char *names[RETURNS_MAX];
    size_t n = attempt_planner_awaited(view->planner, names, RETURNS_MAX);

    if (n > 0)
        node_probe_start(view->launcher->ask, NODE_IS_OURS, names, n, probe, NULL);
}

int node_return_take(const struct watch_view *view, const struct node_probe *probe,
                     bool *awaited)
{
    int back = 0;

    for (size_t i = 0; i < node_probe_count(probe); i++) {
        const char *name = node_probe_node(probe, i);
        enum node_answer answer = node_probe_answer(probe, i);

        if (awaited && answer == NODE_REFUSES)
            *awaited = true;
        if (answer != NODE_ANSWERS || !attempt_planner_regain(view->planner, name))
            continue;
        callback_note(view->callbacks, "node %s is back", name);
        back++;
    }
    return back;
}
