/* node_exchange.c - the exchange between the first ranks of the nodes, in steps of
 * pairs. */
#include "backend/node_exchange.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Make and clear ---- */

static int leaders_find(struct node_exchange *x, struct comm *c, int node,
                        struct error *err)
{
    int64_t mine = node, *all = malloc((size_t)c->size * sizeof *all);
    int rc = -1;

    x->leaders = calloc((size_t)x->n_nodes, sizeof *x->leaders);
    if (!all || !x->leaders)
        error_set(err, RAYTRAIN_ENOMEM, "no memory for %d workers", c->size);
    else
        rc = 0;
    rc = comm_agree(c, rc, err);
    if (rc == 0)
        rc = c->ops->allgather(c, &mine, sizeof mine, all, err);
    for (int r = c->size - 1; rc == 0 && r >= 0; r--)
        x->leaders[all[r]] = r;
    free(all);
    return rc;
}

int node_exchange_make(struct comm *c, const struct world *world,
                       struct node_exchange *out, struct error *err)
{
    *out = (struct node_exchange){.n_nodes = world->n_nodes, .node = world->node_rank};
    if (leaders_find(out, c, world->node_rank, err) < 0 ||
        c->ops->dup(c, &out->comm, err) < 0) {
        free(out->leaders);
        *out = (struct node_exchange){.comm = NULL};
        return -1;
    }
    out->comm->polls = 0;
    out->comm->naps = true;
    return 0;
}

void node_exchange_clear(struct node_exchange *x)
{
    comm_free(x->comm);
    free(x->leaders);
    *x = (struct node_exchange){.comm = NULL};
}

/* ---- The exchange ---- */

/* Send bytes to the node `step` places after this one, and receive from the node `step`
 * places before it. */
static int step_make(const struct node_exchange *x, int step, const void *send,
                     size_t n_send, void *recv, size_t n_recv, struct error *err)
{
    int to = x->leaders[(x->node + step) % x->n_nodes],
        from = x->leaders[(x->node + x->n_nodes - step) % x->n_nodes];

    return x->comm->ops->sendrecv(x->comm, send, n_send, to, recv, n_recv, from, err);
}

/* Fill sizes[0..n_nodes), in which this node's is set. */
static int sizes_get(const struct node_exchange *x, uint64_t *sizes, struct error *err)
{
    for (int step = 1; step < x->n_nodes; step++) {
        int from = (x->node + x->n_nodes - step) % x->n_nodes;

        if (step_make(x, step, &sizes[x->node], sizeof *sizes, &sizes[from],
                      sizeof *sizes, err) < 0)
            return -1;
    }
    return 0;
}

static int data_get(const struct node_exchange *x, const uint64_t *sizes,
                    const size_t *at, char *all, struct error *err)
{
    for (int step = 1; step < x->n_nodes; step++) {
        int from = (x->node + x->n_nodes - step) % x->n_nodes;

        if (step_make(x, step, all + at[x->node], sizes[x->node], all + at[from],
                      sizes[from], err) < 0)
            return -1;
    }
    return 0;
}

static char *all_get(const struct node_exchange *x, const char *data, uint64_t *sizes,
                     size_t *at, size_t *n_all, struct error *err)
{
    char *all = NULL;

    if (sizes_get(x, sizes, err) < 0)
        return NULL;
    *n_all = 0;
    for (int i = 0; i < x->n_nodes; i++) {
        at[i] = *n_all;
        *n_all += sizes[i];
    }
    all = malloc(*n_all + 1);
    if (!all) {
        error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", *n_all);
        return NULL;
    }
    if (sizes[x->node] > 0)
        memcpy(all + at[x->node], data, sizes[x->node]);
    if (data_get(x, sizes, at, all, err) == 0)
        return all;
    free(all);
    return NULL;
}

int node_exchange(void *arg, const char *data, size_t n, char **all, size_t *n_all,
                  struct error *err)
{
    const struct node_exchange *x = arg;
    uint64_t *sizes = calloc((size_t)x->n_nodes, sizeof *sizes);
    size_t *at = calloc((size_t)x->n_nodes, sizeof *at);

    *all = NULL;
    *n_all = 0;
    if (sizes && at) {
        sizes[x->node] = n;
        *all = all_get(x, data, sizes, at, n_all, err);
    } else {
        error_set(err, RAYTRAIN_ENOMEM, "no memory for %d nodes", x->n_nodes);
    }
    free(sizes);
    free(at);
    return *all ? 0 : -1;
}
