#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "pmix/group_file.h"
#include "pmix/message.h"
#include "pmix/namespace.h"
#include "t/unit/scratch.h"
#include "util/fs.h"

static void each_rank_has_a_node_and_a_local_rank(void **state)
{
    const int nodes[] = {0, 1, 0, 2, 1}, locals[] = {0, 0, 1, 0, 1};
    struct pmix_group g;
    struct error err;

    (void)state;
    assert_int_equal(pmix_group_make("a,b,c", "0,2;1,4;3", 1, &g, &err), 0);
    assert_int_equal(g.size, 5);
    assert_int_equal(g.n_nodes, 3);
    assert_int_equal(pmix_group_local_size(&g), 2);
    assert_string_equal(g.hosts[2], "c");
    assert_memory_equal(g.node_of, nodes, sizeof nodes);
    assert_memory_equal(g.local_of, locals, sizeof locals);
    pmix_group_clear(&g);
}

static void lists_that_do_not_agree_are_refused(void **state)
{
    static const struct {
        const char *hosts, *ranks;
        int node;
    } wrong[] = {
        {"", "0", 0},      {"a", "", 0},
        {"a", "1", 0},     {"a", "0,0", 0},
        {"a", "0,2", 0},   {"a", "0;1", 0},
        {"a,b", "0,1", 0}, {"a", "0,x", 0},
        {"a", "0 1", 0},   {"a,b", "0;1,", 0},
        {"a", "-1", 0},    {"a", "0", 1},
        {"a", "0", -1},    {"a", "0,99999999999", 0},
    };
    struct pmix_group g;
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int rc =
            pmix_group_make(wrong[i].hosts, wrong[i].ranks, wrong[i].node, &g, &err);

        assert_int_equal(rc, -1);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
        assert_null(g.ranks);
    }
}

/* The names of ten thousand nodes are longer than an argument of a program may be. */
#define MANY 10000

static void ten_thousand_nodes_are_in_a_file(void **state)
{
    char *hosts = malloc(MANY * 64), *ranks = malloc(MANY * 8), *text, *h, *r;
    const char *got_hosts, *got_ranks;
    struct pmix_group g;
    struct error err;

    (void)state;
    assert_true(hosts && ranks);
    h = hosts;
    r = ranks;
    for (int i = 0; i < MANY; i++) {
        h += sprintf(h, i ? ",%s%d" : "%s%d", "a-node-of-a-large-cluster-", i);
        r += sprintf(r, i ? ";%d" : "%d", MANY - 1 - i);
    }
    assert_true(strlen(hosts) > 128 * 1024);
    assert_int_equal(group_file_write(".", hosts, ranks, &err), 0);
    assert_int_equal(group_file_read(".", &text, &got_hosts, &got_ranks, &err), 0);
    assert_string_equal(got_hosts, hosts);
    assert_string_equal(got_ranks, ranks);
    assert_int_equal(pmix_group_make(got_hosts, got_ranks, 7, &g, &err), 0);
    assert_int_equal(g.n_nodes, MANY);
    assert_int_equal(g.size, MANY);
    assert_string_equal(g.hosts[7], "a-node-of-a-large-cluster-7");
    assert_int_equal(g.node_of[7], MANY - 8);
    pmix_group_clear(&g);
    free(text);
    free(hosts);
    free(ranks);
}

static void half_a_file_is_refused(void **state)
{
    const char *hosts, *ranks;
    struct error err;
    char *text;

    (void)state;
    assert_int_equal(group_file_read(".", &text, &hosts, &ranks, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(fs_replace("group", "a,b\n0;", 6, 0600, &err), 0);
    assert_int_equal(group_file_read(".", &text, &hosts, &ranks, &err), -1);
    assert_non_null(strstr(err.text, "is not complete"));
}

/* In pieces; a socket never has to hold more than a few of them. */
static void data_of_a_fence_arrive_whole(void **state)
{
    static const size_t sizes[] = {0, 1, PMIX_MESSAGE_TEXT_MAX - 1,
                                   PMIX_MESSAGE_TEXT_MAX, PMIX_MESSAGE_TEXT_MAX + 1};
    static struct pmix_message m;
    static char data[PMIX_MESSAGE_TEXT_MAX + 1];
    int ends[2];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *got = NULL;
        size_t n = 0;
        int last = 0;

        assert_int_equal(pmix_fence_send(ends[0], data, sizes[i]), 0);
        while (last == 0) {
            assert_int_equal(pmix_message_receive(ends[1], true, &m), 1);
            assert_int_equal(m.kind, PMIX_MESSAGE_FENCE);
            last = pmix_fence_append(&m, &got, &n);
        }
        assert_int_equal(last, 1);
        assert_int_equal(n, sizes[i]);
        assert_memory_equal(got, data, n);
        assert_int_equal(pmix_message_receive(ends[1], false, &m), 0);
        free(got);
    }
    close(ends[0]);
    assert_int_equal(pmix_message_receive(ends[1], true, &m), -1);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(ten_thousand_nodes_are_in_a_file),
        SCRATCH(half_a_file_is_refused),
        cmocka_unit_test(each_rank_has_a_node_and_a_local_rank),
        cmocka_unit_test(lists_that_do_not_agree_are_refused),
        cmocka_unit_test(data_of_a_fence_arrive_whole),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
