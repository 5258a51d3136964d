/*
 * placement.c - from a ScalingConfig and the available resources to a plan: how many
 * workers a node has room for, the placement strategies, why a request does not fit
 * (what each worker asks for, what the nodes have, which resource is short, what to
 * type next), and the plan.
 */
#include "launch/placement.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/hostlist.h"
#include "util/size.h"

#define SHAPES_MAX 8 /* lines about nodes; the others are only counted */

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
        node->gpus = from->nodes[to->n_nodes].gpus;
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

int placement_gpus(const struct placement *plan, int tasks)
{
    int k = plan->workers_per_gpu;

    return k > 1 ? (tasks + k - 1) / k : tasks * plan->gpus_per_worker;
}

int placement_slices(const struct placement *plan, int tasks)
{
    int64_t parts = (int64_t)tasks * plan->gpu_parts * plan->slices.each;

    return (int)((parts + GPU_PARTS - 1) / GPU_PARTS);
}

/* ---- How many workers a node has room for ---- */

enum node_limit { LIMIT_NONE, LIMIT_TYPE, LIMIT_GPUS, LIMIT_CPUS, LIMIT_MEMORY };

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

/* All workers that share a GPU have the same fraction of it, so each GPU has as many
 * workers as fit. Slices bound the number if the node has fewer of them. */
static int gpu_room(const struct scaling_config *scaling,
                    const struct node_resources *node, const struct gpu_slices *slices)
{
    uint64_t parts = (uint64_t)scaling->gpu_parts, room;

    if (scaling->gpus_per_worker <= 0)
        return INT_MAX;
    if (node->gpus <= 0)
        return 0;
    if (parts == 0)
        return slices->only ? 0 : node->gpus / scaling->gpus_per_worker;
    room = (uint64_t)node->gpus * (uint64_t)scaling_config_workers_per_gpu(scaling);
    if (slices->only && slices->each > 0) {
        uint64_t fit =
            (uint64_t)node->gpu_slices * GPU_PARTS / (parts * (uint64_t)slices->each);

        room = fit < room ? fit : room;
    }
    return count_clamp(room);
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

/* How many workers the node has room for, and which resource bounds that. */
static int node_room(const struct scaling_config *scaling,
                     const struct node_resources *node, int cpu_share,
                     const struct gpu_slices *slices, enum node_limit *limit)
{
    const struct {
        enum node_limit limit;
        int room;
    } rooms[] = {
        {LIMIT_TYPE, type_fits(scaling, node) ? INT_MAX : 0},
        {LIMIT_GPUS, gpu_room(scaling, node, slices)},
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

/* ---- Strategies ----
 * Each fills tasks[0..n) (zero before) from room[0..n) so that they add up to workers,
 * and returns how many workers it could place; less than workers is a refusal. order
 * is scratch space for n numbers. */

/* More room first; equal nodes keep their order. */
static int room_compare(const void *a, const void *b, void *room)
{
    int x = *(const int *)a, y = *(const int *)b, more = ((const int *)room)[x],
        less = ((const int *)room)[y];

    return more != less ? (more > less ? -1 : 1) : x < y ? -1 : x > y;
}

/* As few nodes as possible: those with the most room first; the last one is the first
 * node that has room for the remaining workers. */
static int place_pack(int workers, const int *room, int *tasks, int *order, size_t n)
{
    int left = workers;
    size_t k = 0, last = 0;

    for (size_t i = 0; i < n; i++)
        order[i] = (int)i;
    qsort_r(order, n, sizeof *order, room_compare, (void *)room);
    for (; k < n && room[order[k]] < left; k++)
        left -= tasks[order[k]] = room[order[k]];
    if (k == n)
        return workers - left;
    while (tasks[last] > 0 || room[last] < left)
        last++;
    tasks[last] = left;
    return workers;
}

static int place_strict_pack(int workers, const int *room, int *tasks, int *order,
                             size_t n)
{
    int most = 0;

    (void)order;
    for (size_t i = 0; i < n; i++) {
        if (room[i] >= workers)
            return tasks[i] = workers;
        most = room[i] > most ? room[i] : most;
    }
    return most;
}

/* One worker more per node that has room, until all are placed. order has the nodes
 * that are not full. */
static int place_spread(int workers, const int *room, int *tasks, int *order, size_t n)
{
    int left = workers;
    size_t open = 0;

    for (size_t i = 0; i < n; i++)
        if (room[i] > 0)
            order[open++] = (int)i;
    while (left > 0 && open > 0) {
        size_t kept = 0;

        for (size_t k = 0; k < open && left > 0; k++, left--)
            if (++tasks[order[k]] < room[order[k]])
                order[kept++] = order[k];
        open = kept;
    }
    return workers - left;
}

static int place_strict_spread(int workers, const int *room, int *tasks, int *order,
                               size_t n)
{
    int placed = 0;

    (void)order;
    for (size_t i = 0; i < n && placed < workers; i++)
        if (room[i] > 0) {
            tasks[i] = 1;
            placed++;
        }
    return placed;
}

typedef int place_function(int workers, const int *room, int *tasks, int *order,
                           size_t n);

static place_function *const strategies[] = {
    [PLACEMENT_PACK] = place_pack,
    [PLACEMENT_SPREAD] = place_spread,
    [PLACEMENT_STRICT_PACK] = place_strict_pack,
    [PLACEMENT_STRICT_SPREAD] = place_strict_spread,
};

/* ---- Why it does not fit ---- */

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* "2 CPUs, 1 GPU of type a100, 4G of memory" */
static void request_print(FILE *out, const struct scaling_config *s)
{
    char size[SIZE_TEXT_MAX], gpus[GPU_TEXT_MAX];

    fprintf(out, "%d CPU%s", s->cpus_per_worker, plural(s->cpus_per_worker));
    if (s->gpus_per_worker > 0)
        fprintf(out, ", %s", scaling_config_gpu_text(s, gpus));
    if (s->accelerator_type)
        fprintf(out, "%s type %s", s->gpus_per_worker > 0 ? " of" : ", GPUs of",
                s->accelerator_type);
    if (s->memory_per_worker > 0)
        fprintf(out, ", %s of memory", size_format(s->memory_per_worker, size));
}

static void headline_print(FILE *out, const struct scaling_config *s,
                           const struct resources *have, int placed)
{
    int n = s->num_workers;

    fprintf(out, "%d worker%s ", n, plural(n));
    switch (s->placement_strategy) {
    case PLACEMENT_STRICT_PACK:
        fprintf(out, "do%s not fit on one node of %s (STRICT_PACK)", n == 1 ? "es" : "",
                have->what);
        break;
    case PLACEMENT_STRICT_SPREAD:
        fprintf(out, "need%s a node each in %s (STRICT_SPREAD)", n == 1 ? "s" : "",
                have->what);
        break;
    case PLACEMENT_PACK:
    case PLACEMENT_SPREAD:
        fprintf(out, "do%s not fit in %s", n == 1 ? "es" : "", have->what);
        break;
    }
    fprintf(out, ": there is room for %d.\n  each worker asks for ", placed);
    request_print(out, s);
    putc('\n', out);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool shapes_equal(const struct node_resources *a, const struct node_resources *b)
{
    return a->cpus == b->cpus && a->gpus == b->gpus && a->gpu_slices == b->gpu_slices &&
           a->memory == b->memory && same_text(a->gpu_type, b->gpu_type);
}

/* The names of all nodes of this shape, from node `first` on. */
static char *shape_names(const struct resources *have, size_t first)
{
    char **names = calloc(have->n_nodes, sizeof *names), *text = NULL;
    size_t n = 0;

    for (size_t i = first; names && i < have->n_nodes; i++)
        if (shapes_equal(&have->nodes[i], &have->nodes[first]))
            names[n++] = have->nodes[i].name;
    if (names)
        hostlist_compress(names, n, &text, NULL);
    free(names);
    return text;
}

static const char *const limit_words[] = {
    [LIMIT_NONE] = "nothing",      [LIMIT_TYPE] = "the type of the GPUs",
    [LIMIT_GPUS] = "the GPUs",     [LIMIT_CPUS] = "the CPUs",
    [LIMIT_MEMORY] = "the memory",
};

static void shape_print(FILE *out, const struct scaling_config *scaling,
                        const struct resources *have, size_t at)
{
    const struct node_resources *node = &have->nodes[at];
    enum node_limit limit;
    int room = node_room(scaling, node, have->cpu_share, &have->slices, &limit);
    char *names = shape_names(have, at), size[SIZE_TEXT_MAX];

    fprintf(out, "  %.120s: %d CPU%s, %d GPU%s", names ? names : node->name, node->cpus,
            plural(node->cpus), node->gpus, plural(node->gpus));
    if (have->slices.only)
        fprintf(out, " (%d %ss of %d)", node->gpu_slices, have->slices.name,
                have->slices.each);
    if (node->gpu_type)
        fprintf(out, " of type %s", node->gpu_type);
    if (node->memory > 0)
        fprintf(out, ", %s of memory", size_format(node->memory, size));
    fprintf(out, ": room for %d per node, limited by %s\n", room, limit_words[limit]);
    free(names);
}

/* A line for each shape of node; returns a bit set of the limits that were met. */
static unsigned shapes_print(FILE *out, const struct scaling_config *scaling,
                             const struct resources *have)
{
    unsigned limits = 0;
    int shapes = 0;

    for (size_t i = 0; i < have->n_nodes; i++) {
        enum node_limit limit;
        size_t first = 0;

        while (!shapes_equal(&have->nodes[first], &have->nodes[i]))
            first++;
        if (first < i)
            continue;
        node_room(scaling, &have->nodes[i], have->cpu_share, &have->slices, &limit);
        limits |= 1u << limit;
        if (++shapes <= SHAPES_MAX)
            shape_print(out, scaling, have, i);
    }
    if (shapes > SHAPES_MAX)
        fprintf(out, "  and %d more kinds of node\n", shapes - SHAPES_MAX);
    if (have->n_nodes == 0)
        fputs("  there are no nodes\n", out);
    return limits;
}

/* What to try next, the most likely remedy first. */
static void advice_print(FILE *out, const struct scaling_config *s, int placed,
                         unsigned limits)
{
    const struct {
        bool applies;
        const char *text;
    } ways[] = {
        {s->placement_strategy == PLACEMENT_STRICT_PACK,
         "--placement PACK (several nodes)"},
        {s->placement_strategy == PLACEMENT_STRICT_SPREAD,
         "--placement SPREAD (several workers on a node)"},
        {limits & 1u << LIMIT_TYPE, "another --accelerator-type"},
        {limits & 1u << LIMIT_GPUS && (s->gpus_per_worker > 1 || s->gpu_parts > 0),
         "a smaller --gpus-per-worker"},
        {limits & 1u << LIMIT_CPUS && s->cpus_per_worker > 1,
         "a smaller --cpus-per-worker"},
        {limits & 1u << LIMIT_MEMORY, "a smaller --mem-per-worker"},
    };
    const char *before = "Try ";

    if (placed > 0) {
        fprintf(out, "%s--workers %d", before, placed);
        before = ", ";
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].applies) {
            fprintf(out, "%s%s", before, ways[i].text);
            before = ", ";
        }
    fprintf(out, "%s",
            before[0] == 'T' ? "Run it where more is available."
                             : ", or run it where more is available.");
}

/* The strategy could place only `placed` workers. Always -1, RAYTRAIN_EFIT. */
static int plan_refuse(const struct scaling_config *scaling,
                       const struct resources *have, int placed, struct error *err)
{
    char text[ERROR_TEXT_MAX] = "";
    FILE *out = fmemopen(text, sizeof text - 1, "w");

    if (!out)
        return error_set(err, RAYTRAIN_EFIT, "%d workers do not fit in %s: room for %d",
                         scaling->num_workers, have->what, placed);
    headline_print(out, scaling, have, placed);
    advice_print(out, scaling, placed, shapes_print(out, scaling, have));
    fclose(out);
    return error_set(err, RAYTRAIN_EFIT, "%s", text);
}

/* ---- The plan ---- */

static int plan_fill(const struct scaling_config *scaling, const struct resources *have,
                     int workers, const int *tasks, struct placement *plan,
                     struct error *err)
{
    struct placement p = {
        .workers = workers,
        .cpus_per_worker = scaling->cpus_per_worker,
        .gpus_per_worker = scaling->gpus_per_worker,
        .gpu_parts = scaling->gpu_parts,
        .workers_per_gpu = scaling_config_workers_per_gpu(scaling),
        .slices = have->slices,
        .memory_per_worker = scaling->memory_per_worker,
    };

    p.nodes = calloc(have->n_nodes, sizeof *p.nodes);
    for (size_t i = 0; p.nodes && i < have->n_nodes; i++) {
        if (tasks[i] == 0)
            continue;
        p.nodes[p.n_nodes].tasks = tasks[i];
        p.nodes[p.n_nodes].gpus = have->nodes[i].gpus;
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
        enum node_limit limit;

        room[i] = node_room(scaling, &have->nodes[i], cpu_share, &have->slices, &limit);
    }
}

/* As many workers as there are CPUs for, within the range: above its minimum, CPUs are
 * not shared. room and tasks are scratch space, the latter for 2 n numbers; its first n
 * are zero before and after. */
static int workers_choose(const struct scaling_config *scaling,
                          const struct resources *have, int *room, int *tasks)
{
    size_t n = have->n_nodes;
    int placed;

    if (!scaling_config_is_elastic(scaling))
        return scaling->num_workers;
    rooms_fill(scaling, have, 1, room);
    placed = strategies[scaling->placement_strategy](scaling->max_workers, room, tasks,
                                                     tasks + n, n);
    memset(tasks, 0, n * sizeof *tasks);
    if (placed > scaling->max_workers)
        placed = scaling->max_workers;
    return placed > scaling->num_workers ? placed : scaling->num_workers;
}

int placement_plan(const struct scaling_config *scaling, const struct resources *have,
                   struct placement *plan, struct error *err)
{
    size_t n = have->n_nodes;
    int *room = calloc(3 * n + 1, sizeof *room), *tasks = room + n;
    int workers, placed, rc;

    if (!room)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a placement");
    workers = workers_choose(scaling, have, room, tasks);
    rooms_fill(scaling, have, have->cpu_share, room);
    placed =
        strategies[scaling->placement_strategy](workers, room, tasks, tasks + n, n);
    if (workers < 1)
        rc = error_set(err, RAYTRAIN_EINVAL, "%d workers: at least 1 is needed",
                       workers);
    else if (placed < workers)
        rc = plan_refuse(scaling, have, placed, err);
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
