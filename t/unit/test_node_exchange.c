#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/node_exchange.h"
#include "thread_comm.h"

struct layout {
    int n_nodes;
    int leaders[8];
    size_t sizes[8]; /* what each node gives */
};

static char byte_of(int node, size_t i, int round)
{
    return (char)(node * 31 + round + (int)(i % 251));
}

/* Are all bytes there, in the order of nodes? */
static int all_is_right(const struct layout *l, int round, const char *all, size_t n)
{
    size_t at = 0;

    for (int node = 0; node < l->n_nodes; node++)
        for (size_t i = 0; i < l->sizes[node]; i++, at++)
            if (at >= n || all[at] != byte_of(node, i, round))
                return 0;
    return at == n;
}

static int round_make(const struct layout *l, struct node_exchange *x, int round)
{
    size_t n = l->sizes[x->node], n_all = 0;
    char *data = malloc(n + 1), *all = NULL;
    struct error err;
    int rc;

    for (size_t i = 0; data && i < n; i++)
        data[i] = byte_of(x->node, i, round);
    rc = data ? node_exchange(x, data, n, &all, &n_all, &err) : -1;
    if (rc == 0 && !all_is_right(l, round, all, n_all))
        rc = -1;
    free(data);
    free(all);
    return rc;
}

/* Ranks that are not the first of their node take no part. */
static int leaders_exchange(struct comm *c, void *arg)
{
    const struct layout *l = arg;
    struct node_exchange x = {
        .comm = c, .leaders = (int *)(uintptr_t)l->leaders, .n_nodes = l->n_nodes};

    while (x.node < l->n_nodes && l->leaders[x.node] != c->rank)
        x.node++;
    for (int round = 0; x.node < l->n_nodes && round < 3; round++)
        if (round_make(l, &x, round) < 0)
            return -1;
    return 0;
}

static void nodes_get_the_bytes_of_all(void **state)
{
    static struct layout layouts[] = {
        {.n_nodes = 2, .leaders = {0, 1}, .sizes = {5, 7}},
        {.n_nodes = 2, .leaders = {0, 3}, .sizes = {0, 100000}},
        {.n_nodes = 3, .leaders = {0, 1, 5}, .sizes = {1, 0, 3}},
        {.n_nodes = 5, .leaders = {0, 2, 3, 4, 6}, .sizes = {9, 9, 0, 70000, 1}},
        {.n_nodes = 3, .leaders = {0, 1, 2}, .sizes = {0, 0, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        int rc[8];

        thread_comm_run(8, leaders_exchange, &layouts[i], rc);
        for (int r = 0; r < 8; r++)
            assert_int_equal(rc[r], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_get_the_bytes_of_all)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
