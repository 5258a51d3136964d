/*
 * lightgbm_network.c - the two functions that the library calls to exchange bytes, over
 * comm.
 */
#include "lightgbm/lightgbm_network.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local struct {
    struct comm *comm; /* NULL: no network */
    bool failed;
    struct error err;
    char *buffer; /* of one block from another member */
    size_t size;
    size_t *cuts;
} network;

static void network_fail(void)
{
    network.failed = true;
}

/* ---- Allgather ---- */

/* Gather the blocks of all members, one after the other, in `output`; this member's is
 * `input`. */
static void allgather(char *input, int32_t n, const int32_t *start, const int32_t *len,
                      int n_blocks, char *output, int32_t output_size)
{
    struct comm *c = network.comm;
    const struct comm_parts parts = {output, network.cuts};

    if (network.failed) {
        memset(output, 0, (size_t)output_size);
        return;
    }
    for (int r = 0; r < n_blocks; r++)
        network.cuts[r] = (size_t)start[r];
    network.cuts[n_blocks] = (size_t)start[n_blocks - 1] + (size_t)len[n_blocks - 1];
    if (n > 0) /* the input may be in the output already */
        memmove(output + start[c->rank], input, (size_t)n);
    if (c->ops->allgather_parts(c, &parts, 1, &network.err) < 0) {
        network_fail();
        memset(output, 0, (size_t)output_size);
    }
}

/* ---- Reduce-scatter ---- */

static int buffer_grow(size_t n)
{
    char *grown = n <= network.size ? network.buffer : realloc(network.buffer, n);

    if (!grown)
        return error_set(&network.err, RAYTRAIN_ENOMEM,
                         "out of memory for %zu bytes of histograms", n);
    network.buffer = grown;
    network.size = n > network.size ? n : network.size;
    return 0;
}

/*
 * Reduce this member's block of all inputs in the order of ranks, so that the result
 * does not depend on the order in which messages arrive. The block of each other member
 * has its own place until then.
 */
static int blocks_reduce(const char *input, int element, const int32_t *start,
                         const int32_t *len, char *output, lightgbm_reducer reduce)
{
    struct comm *c = network.comm;
    const size_t mine = (size_t)len[c->rank];

    if (buffer_grow(mine * (size_t)c->size + 1) < 0)
        return -1;
    memcpy(network.buffer + (size_t)c->rank * mine, input + start[c->rank], mine);
    for (int d = 1; d < c->size; d++) {
        int to = (c->rank + d) % c->size, from = (c->rank + c->size - d) % c->size;
        size_t n = (size_t)len[to];

        if (c->ops->sendrecv(c, input + start[to], n, n > 0 ? to : -1,
                             network.buffer + (size_t)from * mine, mine,
                             mine > 0 ? from : -1, &network.err) < 0)
            return -1;
    }
    memcpy(output, network.buffer, mine);
    for (int r = 1; r < c->size; r++)
        reduce(network.buffer + (size_t)r * mine, output, element, (int32_t)mine);
    return 0;
}

/* In C++ the reducer is a reference to a pointer to a function. */
static void reduce_scatter(char *input, int32_t input_size, int element,
                           const int32_t *start, const int32_t *len, int n_blocks,
                           char *output, int32_t output_size,
                           const lightgbm_reducer *reducer)
{
    (void)input_size, (void)n_blocks;
    if (network.failed ||
        blocks_reduce(input, element, start, len, output, *reducer) < 0) {
        network_fail();
        memset(output, 0, (size_t)output_size);
    }
}

/* ---- The network ---- */

int lightgbm_network_start(const struct lightgbm *l, struct comm *comm,
                           struct error *err)
{
    void (*gather)(char *, int32_t, const int32_t *, const int32_t *, int, char *,
                   int32_t) = allgather;
    void (*scatter)(char *, int32_t, int, const int32_t *, const int32_t *, int, char *,
                    int32_t, const lightgbm_reducer *) = reduce_scatter;
    void *functions[2];

    lightgbm_network_stop(l);
    network.cuts = malloc(((size_t)comm->size + 1) * sizeof *network.cuts);
    if (!network.cuts)
        return error_no_memory(err);
    network.comm = comm;
    memcpy(&functions[0], &scatter, sizeof functions[0]);
    memcpy(&functions[1], &gather, sizeof functions[1]);
    if (l->NetworkInitWithFunctions(comm->size, comm->rank, functions[0],
                                    functions[1]) != 0)
        return lightgbm_fail(l, RAYTRAIN_EFAILED, "cannot start its network", err);
    return 0;
}

int lightgbm_network_check(struct error *err)
{
    return network.failed ? error_set(err, network.err.code, "%s", network.err.text)
                          : 0;
}

void lightgbm_network_stop(const struct lightgbm *l)
{
    if (network.comm)
        l->NetworkFree();
    free(network.buffer);
    free(network.cuts);
    memset(&network, 0, sizeof network);
}
