/* process_mapping.c - PMI_process_mapping of MPICH, from the nodes of the ranks. */
#include "config.h"

#include "wireup/process_mapping.h"

#include <stdio.h>
#include <stdlib.h>

struct seen {
    int id, rank;
};

static int seen_compare(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

int nodes_renumber(int *node_of, int size)
{
    struct seen *seen = calloc((size_t)size, sizeof *seen);
    int first = 0, n = 0;

    if (!seen)
        return -1;
    for (int r = 0; r < size; r++)
        seen[r] = (struct seen){.id = node_of[r], .rank = r};
    qsort(seen, (size_t)size, sizeof *seen, seen_compare);
    /* every rank's node is the lowest rank on it ... */
    for (int i = 0; i < size; i++) {
        if (seen[i].id != seen[first].id)
            first = i;
        node_of[seen[i].rank] = seen[first].rank;
    }
    free(seen);
    /* ... which gets its number in rank order: the lowest rank comes before its
     * peers */
    for (int r = 0; r < size; r++)
        node_of[r] = node_of[r] == r ? n++ : node_of[node_of[r]];
    return n;
}

void nodes_place(struct world *world, const int *node_of)
{
    int mine = node_of[world->rank];

    world->node_rank = mine;
    world->local_rank = 0;
    world->local_size = 0;
    world->n_nodes = 0;
    for (int r = 0; r < world->size; r++) {
        if (node_of[r] >= world->n_nodes)
            world->n_nodes = node_of[r] + 1;
        if (node_of[r] != mine)
            continue;
        if (r < world->rank)
            world->local_rank++;
        world->local_size++;
    }
}

/* How many ranks from `rank` on are on the node `node`. */
static int run_length(const int *node_of, int size, int rank, int node)
{
    int n = 0;

    while (rank + n < size && node_of[rank + n] == node)
        n++;
    return n;
}

char *nodes_process_mapping(const int *node_of, int size)
{
    char *text = NULL;
    size_t n_text = 0;
    FILE *f = open_memstream(&text, &n_text);

    if (!f)
        return NULL;
    fputs("(vector", f);
    for (int r = 0; r < size;) {
        int node = node_of[r], per_node = run_length(node_of, size, r, node);
        int nodes = 1;

        while (run_length(node_of, size, r + nodes * per_node, node + nodes) ==
               per_node)
            nodes++;
        fprintf(f, ",(%d,%d,%d)", node, nodes, per_node);
        r += nodes * per_node;
    }
    fputc(')', f);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *nodes_ranks(const int *node_of, int size)
{
    char *text = malloc((size_t)size * 12 + 1), *end = text;
    int n_nodes = 0;

    if (!text)
        return NULL;
    for (int r = 0; r < size; r++)
        if (node_of[r] >= n_nodes)
            n_nodes = node_of[r] + 1;
    for (int node = 0; node < n_nodes; node++)
        for (int r = 0, first = 1; r < size; r++)
            if (node_of[r] == node) {
                end += sprintf(end, "%s%d", !first ? "," : node > 0 ? ";" : "", r);
                first = 0;
            }
    return text;
}
