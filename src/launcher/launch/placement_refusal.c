/*
 * placement_refusal.c - why a request does not fit: what each worker asks for, what the
 * nodes have (one line for each shape of node), which resource is short, what to type
 * next.
 */
#include "launch/node_capacity.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hostlist.h"
#include "util/size.h"

#define SHAPES_MAX 8 /* lines about nodes; the rest is counted */

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* "2 CPUs, 1 GPU of type a100, 4G of memory" */
static void request_print(FILE *out, const struct scaling_config *s)
{
    char size[SIZE_TEXT_MAX];

    fprintf(out, "%d CPU%s", s->cpus_per_worker, plural(s->cpus_per_worker));
    if (s->gpus_per_worker > 0)
        fprintf(out, ", %d GPU%s", s->gpus_per_worker, plural(s->gpus_per_worker));
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
        fprintf(out, "want%s a node each in %s (STRICT_SPREAD)", n == 1 ? "s" : "",
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
    return a->cpus == b->cpus && a->gpus == b->gpus && a->memory == b->memory &&
           same_text(a->gpu_type, b->gpu_type);
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
    enum placement_limit limit;
    int room = placement_room(scaling, node, have->cpu_share, &limit);
    char *names = shape_names(have, at), size[SIZE_TEXT_MAX];

    fprintf(out, "  %.120s: %d CPU%s, %d GPU%s", names ? names : node->name, node->cpus,
            plural(node->cpus), node->gpus, plural(node->gpus));
    if (node->gpu_type)
        fprintf(out, " of type %s", node->gpu_type);
    if (node->memory > 0)
        fprintf(out, ", %s of memory", size_format(node->memory, size));
    fprintf(out, ": room for %d a node, bounded by %s\n", room, limit_words[limit]);
    free(names);
}

/* A line for each shape of node; returns which limits were met, a bit each. */
static unsigned shapes_print(FILE *out, const struct scaling_config *scaling,
                             const struct resources *have)
{
    unsigned limits = 0;
    int shapes = 0;

    for (size_t i = 0; i < have->n_nodes; i++) {
        enum placement_limit limit;
        size_t first = 0;

        while (!shapes_equal(&have->nodes[first], &have->nodes[i]))
            first++;
        if (first < i)
            continue;
        placement_room(scaling, &have->nodes[i], have->cpu_share, &limit);
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

/* What to type next; the first sentences are the likeliest. */
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
        {limits & 1u << LIMIT_GPUS && s->gpus_per_worker > 1,
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
            before[0] == 'T' ? "Run it where there is more."
                             : ", or run it where there is more.");
}

int placement_refuse(const struct scaling_config *scaling, const struct resources *have,
                     int placed, struct error *err)
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
