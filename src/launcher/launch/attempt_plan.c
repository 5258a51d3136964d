/* attempt_plan.c - plans of attempts; nodes that are lost, and those that return. */
#include "launch/attempt_plan.h"

#include <stdlib.h>

#include "util/hostlist.h"
#include "util/name_index.h"

#define LOSSES_MAX 2 /* a node that is lost this often is not used again */

struct attempt_planner {
    const struct launcher_ops *launcher;
    const struct scaling_config *scaling;
    struct resources have;
    struct node_state {
        bool lost;
        int losses;
    } * nodes;               /* one per node in have */
    struct name_index names; /* of have */
};

static int names_make(struct attempt_planner *p, struct error *err)
{
    name_index_clear(&p->names);
    return name_index_make(&p->names, &p->have.nodes[0].name, sizeof *p->have.nodes,
                           p->have.n_nodes) < 0
               ? error_no_memory(err)
               : 0;
}

int attempt_planner_create(const struct launcher_ops *launcher,
                           const struct scaling_config *scaling,
                           struct attempt_planner **out, struct error *err)
{
    struct attempt_planner *p = calloc(1, sizeof *p);

    if (!p)
        return error_no_memory(err);
    p->launcher = launcher;
    p->scaling = scaling;
    if (launcher->resources(scaling, &p->have, err) < 0) {
        free(p);
        return -1;
    }
    p->nodes = calloc(p->have.n_nodes + 1, sizeof *p->nodes);
    if (!p->nodes || names_make(p, err) < 0) {
        attempt_planner_destroy(p);
        return error_no_memory(err);
    }
    *out = p;
    return 0;
}

/* If nodes can be lost, their state is kept; a single machine is one node. */
int attempt_planner_refresh(struct attempt_planner *p, struct error *err)
{
    struct resources now = {0};

    if (p->launcher->ask)
        return 0;
    if (p->launcher->resources(p->scaling, &now, err) < 0)
        return -1;
    if (now.n_nodes != p->have.n_nodes) {
        resources_clear(&now);
        return 0;
    }
    resources_clear(&p->have);
    p->have = now;
    return names_make(p, err);
}

void attempt_planner_destroy(struct attempt_planner *p)
{
    if (!p)
        return;
    name_index_clear(&p->names);
    resources_clear(&p->have);
    free(p->nodes);
    free(p);
}

/* ---- Plans ---- */

static size_t lost_count(const struct attempt_planner *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->have.n_nodes; i++)
        n += p->nodes[i].lost;
    return n;
}

/* All nodes but the lost ones, in their order; the names still belong to p. NULL if out
 * of memory. */
static struct node_resources *nodes_left(const struct attempt_planner *p, size_t *n)
{
    struct node_resources *left = calloc(p->have.n_nodes + 1, sizeof *left);

    *n = 0;
    for (size_t i = 0; left && i < p->have.n_nodes; i++)
        if (!p->nodes[i].lost)
            left[(*n)++] = p->have.nodes[i];
    return left;
}

/* Prefix the reason with the nodes that are missing. */
static int refused(const struct attempt_planner *p, size_t spare, struct error *err)
{
    char *lost = attempt_planner_lost_names(p);

    if (lost)
        error_prefix(err, "without %s, which %s lost", lost,
                     lost_count(p) == 1 ? "is" : "are");
    else if (spare > 0)
        error_prefix(err, "with %zu spare node%s", spare, spare == 1 ? "" : "s");
    free(lost);
    return -1;
}

static size_t spare_count(const struct attempt_planner *p)
{
    size_t lost = lost_count(p), spare = (size_t)p->scaling->spare_nodes;

    return spare > lost ? spare - lost : 0;
}

int attempt_planner_plan(const struct attempt_planner *p, struct placement *plan,
                         struct error *err)
{
    size_t spare = spare_count(p), n;
    struct resources have = p->have;
    int rc;

    have.nodes = nodes_left(p, &n);
    if (!have.nodes)
        return error_no_memory(err);
    have.n_nodes = n > spare ? n - spare : 0;
    rc = placement_plan(p->scaling, &have, plan, err);
    free(have.nodes);
    return rc < 0 && err->code == RAYTRAIN_EFIT ? refused(p, spare, err) : rc;
}

size_t attempt_planner_idle(const struct attempt_planner *p,
                            const struct placement *plan, size_t *n_nodes)
{
    size_t without = lost_count(p) + spare_count(p);

    *n_nodes = p->have.n_nodes > without ? p->have.n_nodes - without : 0;
    return *n_nodes > plan->n_nodes ? *n_nodes - plan->n_nodes : 0;
}

bool attempt_planner_can_grow(const struct attempt_planner *p, int workers)
{
    struct placement plan = {0};
    struct error err;
    bool larger;

    if (!scaling_config_is_elastic(p->scaling) ||
        attempt_planner_plan(p, &plan, &err) < 0)
        return false;
    larger = plan.workers > workers;
    placement_clear(&plan);
    return larger;
}

/* ---- Nodes that are lost, and return ---- */

static struct node_state *node_find(const struct attempt_planner *p, const char *name)
{
    size_t i = name_index_find(&p->names, name);

    return i == NAME_INDEX_NONE ? NULL : &p->nodes[i];
}

void attempt_planner_lose(struct attempt_planner *p, const char *node)
{
    struct node_state *state = node_find(p, node);

    if (!state || state->lost)
        return;
    state->lost = true;
    state->losses++;
}

bool attempt_planner_leave_out(struct attempt_planner *p, const char *node)
{
    struct node_state *state = node_find(p, node), before;
    struct placement without = {0};
    struct error why;
    bool fits;

    if (!state)
        return false;
    before = *state;
    *state = (struct node_state){.lost = true, .losses = LOSSES_MAX};
    fits = attempt_planner_plan(p, &without, &why) == 0;
    placement_clear(&without);
    if (!fits)
        *state = before;
    return fits;
}

bool attempt_planner_regain(struct attempt_planner *p, const char *node)
{
    struct node_state *state = node_find(p, node);

    if (!state || !state->lost || state->losses >= LOSSES_MAX)
        return false;
    state->lost = false;
    return true;
}

bool attempt_planner_is_lost(const struct attempt_planner *p, const char *node)
{
    const struct node_state *state = node_find(p, node);

    return state && state->lost;
}

bool attempt_planner_had_losses(const struct attempt_planner *p)
{
    for (size_t i = 0; i < p->have.n_nodes; i++)
        if (p->nodes[i].losses > 0)
            return true;
    return false;
}

char **attempt_planner_present(const struct attempt_planner *p)
{
    char **names = calloc(p->have.n_nodes + 1, sizeof *names);
    size_t n = 0;

    for (size_t i = 0; names && i < p->have.n_nodes; i++)
        if (!p->nodes[i].lost)
            names[n++] = p->have.nodes[i].name;
    return names;
}

size_t attempt_planner_awaited(const struct attempt_planner *p, char **names,
                               size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < p->have.n_nodes && n < max; i++)
        if (p->nodes[i].lost && p->nodes[i].losses < LOSSES_MAX)
            names[n++] = p->have.nodes[i].name;
    return n;
}

char *attempt_planner_lost_names(const struct attempt_planner *p)
{
    char **names = calloc(p->have.n_nodes + 1, sizeof *names), *text = NULL;
    size_t n = 0;

    for (size_t i = 0; names && i < p->have.n_nodes; i++)
        if (p->nodes[i].lost)
            names[n++] = p->have.nodes[i].name;
    if (n > 0)
        hostlist_compress(names, n, &text, NULL);
    free(names);
    return text;
}
