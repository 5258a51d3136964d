#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wireup/process_mapping.h"

static const struct layout {
    int size;
    int node_of[12];
    int renumbered[12];
    int n_nodes;
    const char *mapping;
} layouts[] = {
    {1, {0}, {0}, 1, "(vector,(0,1,1))"},
    {4, {7, 7, 7, 7}, {0, 0, 0, 0}, 1, "(vector,(0,1,4))"},
    /* blocks, in the resource manager's order or not */
    {6, {0, 0, 1, 1, 2, 2}, {0, 0, 1, 1, 2, 2}, 3, "(vector,(0,3,2))"},
    {6, {2, 2, 0, 0, 1, 1}, {0, 0, 1, 1, 2, 2}, 3, "(vector,(0,3,2))"},
    /* uneven */
    {5, {0, 0, 0, 1, 1}, {0, 0, 0, 1, 1}, 2, "(vector,(0,1,3),(1,1,2))"},
    {7, {0, 0, 1, 1, 2, 3, 4}, {0, 0, 1, 1, 2, 3, 4}, 5, "(vector,(0,2,2),(2,3,1))"},
    /* cyclic */
    {4, {0, 1, 0, 1}, {0, 1, 0, 1}, 2, "(vector,(0,2,1),(0,2,1))"},
    {6, {1, 0, 2, 1, 0, 2}, {0, 1, 2, 0, 1, 2}, 3, "(vector,(0,3,1),(0,3,1))"},
    /* a block that ends short of the next */
    {5, {3, 3, 1, 1, 3}, {0, 0, 1, 1, 0}, 2, "(vector,(0,2,2),(0,1,1))"},
    {3, {5, 4, 3}, {0, 1, 2}, 3, "(vector,(0,3,1))"},
};

static void layouts_are_numbered_and_mapped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const struct layout *l = &layouts[i];
        int node_of[12];
        char *mapping;

        memcpy(node_of, l->node_of, sizeof node_of);
        assert_int_equal(nodes_renumber(node_of, l->size), l->n_nodes);
        assert_memory_equal(node_of, l->renumbered, (size_t)l->size * sizeof(int));
        mapping = nodes_process_mapping(node_of, l->size);
        assert_string_equal(mapping, l->mapping);
        free(mapping);
    }
}

static void ranks_are_listed_by_node(void **state)
{
    const int one[] = {0, 0, 0}, cyclic[] = {0, 1, 0, 2, 1};
    char *text;

    (void)state;
    text = nodes_ranks(one, 3);
    assert_string_equal(text, "0,1,2");
    free(text);
    text = nodes_ranks(cyclic, 5);
    assert_string_equal(text, "0,2;1,4;3");
    free(text);
}

/* What MPI makes of the mapping must be what went in: expand it again. */
static void mapping_expand(const char *text, int *node_of, int size)
{
    int first, nodes, per_node, used, rank = 0;

    assert_int_equal(strncmp(text, "(vector", 7), 0);
    text += 7;
    while (sscanf(text, ",(%d,%d,%d)%n", &first, &nodes, &per_node, &used) == 3) {
        text += used;
        for (int i = 0; i < nodes; i++)
            for (int k = 0; k < per_node; k++) {
                assert_true(rank < size);
                node_of[rank++] = first + i;
            }
    }
    assert_string_equal(text, ")");
    assert_int_equal(rank, size);
}

static void any_layout_survives_the_mapping(void **state)
{
    (void)state;
    srand(5);
    for (int round = 0; round < 2000; round++) {
        int size = 1 + rand() % 40, node_of[40], again[40];
        int n_nodes = 1 + rand() % 6, run = 0, node = 0;
        char *mapping;

        for (int r = 0; r < size; r++) {
            if (run-- == 0) {
                node = rand() % n_nodes;
                run = rand() % 4;
            }
            node_of[r] = node;
        }
        nodes_renumber(node_of, size);
        mapping = nodes_process_mapping(node_of, size);
        mapping_expand(mapping, again, size);
        assert_memory_equal(again, node_of, (size_t)size * sizeof(int));
        free(mapping);
    }
}

static void each_rank_knows_its_place(void **state)
{
    static const int cyclic[] = {0, 1, 2, 0, 1, 0};
    static const struct world expect[] = {
        {.rank = 0, .local_rank = 0, .local_size = 3, .node_rank = 0},
        {.rank = 1, .local_rank = 0, .local_size = 2, .node_rank = 1},
        {.rank = 2, .local_rank = 0, .local_size = 1, .node_rank = 2},
        {.rank = 3, .local_rank = 1, .local_size = 3, .node_rank = 0},
        {.rank = 4, .local_rank = 1, .local_size = 2, .node_rank = 1},
        {.rank = 5, .local_rank = 2, .local_size = 3, .node_rank = 0},
    };

    (void)state;
    for (int r = 0; r < 6; r++) {
        struct world w = {.rank = r, .size = 6};

        nodes_place(&w, cyclic);
        assert_int_equal(w.local_rank, expect[r].local_rank);
        assert_int_equal(w.local_size, expect[r].local_size);
        assert_int_equal(w.node_rank, expect[r].node_rank);
        assert_int_equal(w.n_nodes, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_numbered_and_mapped),
        cmocka_unit_test(ranks_are_listed_by_node),
        cmocka_unit_test(any_layout_survives_the_mapping),
        cmocka_unit_test(each_rank_knows_its_place),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
