/* What a task of a step is ordered to do, and the variables of workers. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "task/task_orders.h"
#include "task/worker_variables.h"
#include "util/argv.h"

/* ---- Orders ---- */

/* The orders in a text that arrives in pieces of this size, as "e0 b1 l". */
static void orders_read(const char *text, size_t piece, char said[256])
{
    struct task_orders orders;
    size_t n = strlen(text), at = 0;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    task_orders_init(&orders, ends[0]);
    said[0] = '\0';
    while (orders.fd >= 0) {
        size_t more = n - at < piece ? n - at : piece;
        struct order order;

        assert_int_equal(write(ends[1], text + at, more), more);
        at += more;
        if (more == 0)
            close(ends[1]);
        task_orders_read(&orders);
        while ((order = task_orders_next(&orders)).kind != ORDER_NONE)
            sprintf(said + strlen(said), order.kind == ORDER_LEAVE ? "l " : "%c%d ",
                    order.kind == ORDER_END ? 'e' : 'b', order.attempt);
    }
    close(ends[0]);
}

static void orders_are_read_in_pieces_of_any_size(void **state)
{
    static const char text[] = "end 0\nbegin 1\nend 12\nleave\n";
    char said[256];

    (void)state;
    for (size_t piece = 1; piece <= sizeof text; piece++) {
        orders_read(text, piece, said);
        assert_string_equal(said, "e0 b1 e12 l ");
    }
}

static void other_lines_are_ignored(void **state)
{
    char said[256];

    (void)state;
    orders_read(
        "\nbegin\nbegin x\nbegin 1 2\nend 3x\nleave now\nstop 1\n"
        "begin 00000000000000000000000000000000000000000000000000000000000000001\n"
        "begin 4\nend 4",
        7, said);
    assert_string_equal(said, "b4 ");
}

static void without_an_order_nothing_waits(void **state)
{
    struct task_orders orders;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    task_orders_init(&orders, ends[0]);
    task_orders_read(&orders);
    assert_int_equal(task_orders_next(&orders).kind, ORDER_NONE);
    assert_int_equal(orders.fd, ends[0]);
    close(ends[0]);
    close(ends[1]);
}

/* ---- Variables ---- */

#define LISTS "A=1\0RANK=0\0B=2\0\0A=1\0RANK=1\0B=2\0\0"

static void each_worker_gets_its_variables(void **state)
{
    char *block, **mine;
    struct error err;
    size_t n;

    (void)state;
    assert_int_equal(
        worker_variables_pack(LISTS, sizeof LISTS - 1, 2, &block, &n, &err), 0);
    assert_int_equal(n, sizeof "A=1\0B=2\0\0RANK=0\0\0RANK=1\0" - 0);
    for (int i = 0; i < 2; i++) {
        char rank[] = "RANK=0";

        rank[5] = (char)('0' + i);
        assert_int_equal(worker_variables_unpack(block, n, i, &mine, &err), 0);
        assert_int_equal(argv_count(mine), 3);
        assert_true(argv_has(mine, "A=1") && argv_has(mine, "B=2") &&
                    argv_has(mine, rank));
        argv_free(mine);
    }
    assert_int_equal(worker_variables_unpack(block, n, 2, &mine, &err), -1);
    assert_null(mine);
    free(block);
}

/* Bytes of another process are not believed. */
static void a_block_that_is_cut_is_refused(void **state)
{
    char *block, **mine;
    struct error err;
    size_t n;

    (void)state;
    assert_int_equal(
        worker_variables_pack(LISTS, sizeof LISTS - 1, 2, &block, &n, &err), 0);
    for (size_t cut = 0; cut < n; cut++) {
        char *copy = malloc(cut ? cut : 1); /* so that a sanitizer sees each byte */

        memcpy(copy, block, cut);
        assert_int_equal(worker_variables_unpack(copy, cut, 1, &mine, &err), -1);
        free(copy);
    }
    free(block);
}

static void lists_of_fewer_workers_are_refused(void **state)
{
    char *block;
    struct error err;
    size_t n;

    (void)state;
    assert_int_equal(
        worker_variables_pack(LISTS, sizeof LISTS - 1, 3, &block, &n, &err), -1);
    assert_int_equal(worker_variables_pack("A=1", 3, 1, &block, &n, &err), -1);
    assert_int_equal(worker_variables_pack("", 0, 1, &block, &n, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_read_in_pieces_of_any_size),
        cmocka_unit_test(other_lines_are_ignored),
        cmocka_unit_test(without_an_order_nothing_waits),
        cmocka_unit_test(each_worker_gets_its_variables),
        cmocka_unit_test(a_block_that_is_cut_is_refused),
        cmocka_unit_test(lists_of_fewer_workers_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
