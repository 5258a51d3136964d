/* placement.c - from a ScalingConfig and what there is to a plan; see placement.h. */
#include "launch/placement.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launch/node_capacity.h"

void resources_clear(struct resources *r)
{
    for (size_t i = 0; i < r->n_nodes; i++) {
        free(r->nodes[i].name);
        free(r->nodes[i].gpu_type);
    }
    free(r->nodes);
    *r = (struct resources){0};
}

int placement_copy(const struct placement *from, struct placement *to,
                   struct error *err)
{
    *to = *from;
    to->n_nodes = 0;
    if (!(to->nodes = calloc(from->n_nodes, sizeof *to->nodes)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a placement");
    for (; to->n_nodes < from->n_nodes; to->n_nodes++) {
        struct placed_node *node = &to->nodes[to->n_nodes];

        node->tasks = from->nodes[to->n_nodes].tasks;
        if (!(node->name = strdup(from->nodes[to->n_nodes].name)))
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a placement");
    }
    return 0;
}

void placement_clear(struct placement *plan)
{
    for (size_t i = 0; i < plan->n_nodes; i++)
        free(plan->nodes[i].name);
    free(plan->nodes);
    *plan = (struct placement){0};
}

/* ---- How many workers a node has room for ---------------------------------------- */

static int count_clamp(uint64_t n)
{
    return n > INT_MAX ? INT_MAX : (int)n;
}

static int cpu_room(const struct scaling_config *scaling,
                    const struct node_resources *node, int share)
{
    uint64_t cpus = node->cpus > 0 ? (uint64_t)node->cpus : 0;

    if (scaling->cpus_per_worker <= 0)
        return INT_MAX;
    if (scaling->cpus_per_worker == 1 && share > 1)
        return count_clamp(cpus * (uint64_t)share);
    return count_clamp(cpus / (uint64_t)scaling->cpus_per_worker);
}

static int gpu_room(const struct scaling_config *scaling,
                    const struct node_resources *node)
{
    if (scaling->gpus_per_worker <= 0)
        return INT_MAX;
    return node->gpus > 0 ? node->gpus / scaling->gpus_per_worker : 0;
}

static int memory_room(const struct scaling_config *scaling,
                       const struct node_resources *node)
{
    if (scaling->memory_per_worker == 0 || node->memory == 0)
        return INT_MAX;
    return count_clamp(node->memory / scaling->memory_per_worker);
}

static bool type_fits(const struct scaling_config *scaling,
                      const struct node_resources *node)
{
    return !scaling->accelerator_type ||
           (node->gpu_type &&
            strcasecmp(node->gpu_type, scaling->accelerator_type) == 0);
}

int placement_room(const struct scaling_config *scaling,
                   const struct node_resources *node, int cpu_share,
                   enum placement_limit *limit)
{
    const struct {
        enum placement_limit limit;
        int room;
    } rooms[] = {
        {LIMIT_TYPE, type_fits(scaling, node) ? INT_MAX : 0},
        {LIMIT_GPUS, gpu_room(scaling, node)},
        {LIMIT_CPUS, cpu_room(scaling, node, cpu_share)},
        {LIMIT_MEMORY, memory_room(scaling, node)},
    };
    int room = INT_MAX;

    *limit = LIMIT_NONE;
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        if (rooms[i].room < room) {
            room = rooms[i].room;
            *limit = rooms[i].limit;
        }
    return room;
}

/* ---- Strategies -------------------------------------------------------------------
 * Each fills tasks[0..n) (zero before) from room[0..n) so that they add up to workers,
 * and returns how many workers it could place; less than workers is a refusal. */

/* Of the nodes that are still free, the one with the most room (the first of equals).
 */
static size_t roomiest(const int *room, const int *tasks, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if ((tasks[i] == 0 ? room[i] : 0) > (tasks[best] == 0 ? room[best] : 0))
            best = i;
    return best;
}

/* As few nodes as possible: the roomiest ones, but for the last the first that
 * suffices. */
static int place_pack(int workers, const int *room, int *tasks, size_t n)
{
    int left = workers;

    while (left > 0) {
        size_t at = 0;

        while (at < n && (tasks[at] > 0 || room[at] < left))
            at++;
        if (at == n)
            at = roomiest(room, tasks, n);
        if (tasks[at] > 0 || room[at] == 0)
            break; /* nothing is left */
        tasks[at] = room[at] < left ? room[at] : left;
        left -= tasks[at];
    }
    return workers - left;
}

static int place_strict_pack(int workers, const int *room, int *tasks, size_t n)
{
    int most = 0;

    for (size_t i = 0; i < n; i++) {
        if (room[i] >= workers)
            return tasks[i] = workers;
        most = room[i] > most ? room[i] : most;
    }
    return most;
}

/* One more for each node that has room, until all are placed. */
static int place_spread(int workers, const int *room, int *tasks, size_t n)
{
    int left = workers, before;

    do {
        before = left;
        for (size_t i = 0; i < n && left > 0; i++)
            if (tasks[i] < room[i]) {
                tasks[i]++;
                left--;
            }
    } while (left > 0 && left < before);
    return workers - left;
}

static int place_strict_spread(int workers, const int *room, int *tasks, size_t n)
{
    int placed = 0;

    for (size_t i = 0; i < n && placed < workers; i++)
        if (room[i] > 0) {
            tasks[i] = 1;
            placed++;
        }
    return placed;
}

typedef int place_function(int workers, const int *room, int *tasks, size_t n);

static place_function *const strategies[] = {
    [PLACEMENT_PACK] = place_pack,
    [PLACEMENT_SPREAD] = place_spread,
    [PLACEMENT_STRICT_PACK] = place_strict_pack,
    [PLACEMENT_STRICT_SPREAD] = place_strict_spread,
};

/* ---- The plan ---------------------------------------------------------------------
 */

static int plan_fill(const struct scaling_config *scaling, const struct resources *have,
                     int workers, const int *tasks, struct placement *plan,
                     struct error *err)
{
    struct placement p = {
        .workers = workers,
        .cpus_per_worker = scaling->cpus_per_worker,
        .gpus_per_worker = scaling->gpus_per_worker,
        .memory_per_worker = scaling->memory_per_worker,
    };

    p.nodes = calloc(have->n_nodes, sizeof *p.nodes);
    for (size_t i = 0; p.nodes && i < have->n_nodes; i++) {
        if (tasks[i] == 0)
            continue;
        p.nodes[p.n_nodes].tasks = tasks[i];
        if (!(p.nodes[p.n_nodes].name = strdup(have->nodes[i].name)))
            break;
        p.n_nodes++;
    }
    if (!p.nodes || (p.n_nodes < have->n_nodes && p.nodes[p.n_nodes].tasks > 0)) {
        placement_clear(&p);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a placement");
    }
    *plan = p;
    return 0;
}

static void rooms_fill(const struct scaling_config *scaling,
                       const struct resources *have, int cpu_share, int *room)
{
    for (size_t i = 0; i < have->n_nodes; i++) {
        enum placement_limit limit;

        room[i] = placement_room(scaling, &have->nodes[i], cpu_share, &limit);
    }
}

/* As many as there are CPUs for, within the range: more than the least share none. room
 * and tasks are for scratch, tasks is zero before and after. */
static int workers_choose(const struct scaling_config *scaling,
                          const struct resources *have, int *room, int *tasks)
{
    size_t n = have->n_nodes;
    int placed;

    if (!scaling_config_is_elastic(scaling))
        return scaling->num_workers;
    rooms_fill(scaling, have, 1, room);
    placed =
        strategies[scaling->placement_strategy](scaling->max_workers, room, tasks, n);
    memset(tasks, 0, n * sizeof *tasks);
    if (placed > scaling->max_workers)
        placed = scaling->max_workers;
    return placed > scaling->num_workers ? placed : scaling->num_workers;
}

int placement_plan(const struct scaling_config *scaling, const struct resources *have,
                   struct placement *plan, struct error *err)
{
    size_t n = have->n_nodes;
    int *room = calloc(2 * n + 1, sizeof *room), *tasks = room + n;
    int workers, placed, rc;

    if (!room)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a placement");
    workers = workers_choose(scaling, have, room, tasks);
    rooms_fill(scaling, have, have->cpu_share, room);
    placed = strategies[scaling->placement_strategy](workers, room, tasks, n);
    if (workers < 1)
        rc = error_set(err, RAYTRAIN_EINVAL, "%d workers: at least 1 is needed",
                       workers);
    else if (placed < workers)
        rc = placement_refuse(scaling, have, placed, err);
    else
        rc = plan_fill(scaling, have, workers, tasks, plan, err);
    free(room);
    return rc;
}

const char *placement_host(const struct placement *plan, int rank)
{
    for (size_t i = 0; rank >= 0 && i < plan->n_nodes; i++) {
        if (rank < plan->nodes[i].tasks)
            return plan->nodes[i].name;
        rank -= plan->nodes[i].tasks;
    }
    return "";
}
