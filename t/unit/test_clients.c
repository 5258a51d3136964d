/* Slots of clients, and their time: sockets are socket pairs, and the clock is a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "http/clients.h"

static struct error err;

/* Answers may have 100 bytes. */
static int create(size_t most, double seconds, struct clients **out)
{
    const struct clients_limits limits = {
        .most = most, .seconds = seconds, .answers = 100};

    return clients_create(&limits, out, &err);
}

struct pair {
    int fds[2];
    struct client *client;
};

static void connect_client(struct clients *clients, struct pair *p, double now)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p->fds), 0);
    p->client = clients_add(clients, p->fds[0], now);
}

/* Has the client been disconnected? */
static bool is_over(const struct pair *p)
{
    char byte;

    return recv(p->fds[1], &byte, 1, 0) == 0;
}

static void leave(struct clients *clients, struct pair *p)
{
    clients_remove(clients, p->client);
    close(p->fds[0]);
    close(p->fds[1]);
}

static void a_client_that_is_late_is_disconnected(void **state)
{
    struct clients_state look;
    struct clients *clients;
    struct pair p[4];

    (void)state;
    assert_int_equal(create(10, 60, &clients), 0);
    for (int i = 0; i < 4; i++)
        connect_client(clients, &p[i], 100);
    clients_set(clients, p[1].client, CLIENT_ASKS, 110);
    clients_set(clients, p[2].client, CLIENT_WAITS, 110);
    clients_set(clients, p[3].client, CLIENT_READS, 130);
    clients_expire(clients, 160);
    assert_false(is_over(&p[0]));
    clients_expire(clients, 161);
    assert_true(is_over(&p[0]));
    assert_false(is_over(&p[1]));
    clients_expire(clients, 191);
    assert_true(is_over(&p[1]));
    assert_false(is_over(&p[2])); /* it is not its turn */
    assert_true(is_over(&p[3]));
    clients_expire(clients, 300);
    clients_look(clients, &look);
    assert_int_equal(look.late, 3);
    assert_int_equal(look.now, 4);
    for (int i = 0; i < 4; i++)
        leave(clients, &p[i]);
    clients_destroy(clients);
}

static void each_request_of_a_client_has_its_own_time(void **state)
{
    struct clients *clients;
    struct pair p;

    (void)state;
    assert_int_equal(create(10, 60, &clients), 0);
    connect_client(clients, &p, 0);
    for (double now = 0; now < 600; now += 40) {
        clients_set(clients, p.client, CLIENT_ASKS, now);
        clients_set(clients, p.client, CLIENT_READS, now);
        clients_set(clients, p.client, CLIENT_IDLE, now);
        clients_expire(clients, now + 39);
        assert_false(is_over(&p));
    }
    leave(clients, &p);
    clients_destroy(clients);
}

static void the_one_that_is_idle_longest_makes_room(void **state)
{
    struct clients *clients;
    struct pair p[6];

    (void)state;
    assert_int_equal(create(3, 60, &clients), 0);
    for (int i = 0; i < 3; i++)
        connect_client(clients, &p[i], i);
    clients_set(clients, p[0].client, CLIENT_WAITS, 3);
    connect_client(clients, &p[3], 4);
    assert_non_null(p[3].client);
    assert_false(is_over(&p[0]));
    assert_true(is_over(&p[1]));
    assert_false(is_over(&p[2]));
    connect_client(clients, &p[4], 5); /* the one that is over is still there */
    assert_non_null(p[4].client);
    assert_true(is_over(&p[2]));
    for (int i = 0; i < 5; i++)
        leave(clients, &p[i]);
    clients_destroy(clients);
}

static void one_that_sends_a_body_makes_room_if_none_is_idle(void **state)
{
    struct clients *clients;
    struct pair p[3];

    (void)state;
    assert_int_equal(create(2, 60, &clients), 0);
    connect_client(clients, &p[0], 0);
    connect_client(clients, &p[1], 1);
    clients_set(clients, p[0].client, CLIENT_ASKS, 2);
    clients_set(clients, p[1].client, CLIENT_READS, 3);
    connect_client(clients, &p[2], 4);
    assert_non_null(p[2].client);
    assert_true(is_over(&p[0]));
    assert_false(is_over(&p[1]));
    for (int i = 0; i < 3; i++)
        leave(clients, &p[i]);
    clients_destroy(clients);
}

/* Two that wait take the slots; two more are there without one. */
static void fill(struct clients *clients, struct pair p[], int n)
{
    for (int i = 0; i < n; i++) {
        connect_client(clients, &p[i], i);
        assert_non_null(p[i].client);
        if (i < 2)
            clients_set(clients, p[i].client, CLIENT_WAITS, i);
        assert_int_equal(clients_has_slot(clients, p[i].client), i < 2);
    }
}

static void if_all_are_busy_a_few_more_connect_without_a_slot(void **state)
{
    const int n = 2 + CLIENTS_EXTRA;
    struct clients *clients;
    struct pair p[2 + CLIENTS_EXTRA + 2];

    (void)state;
    assert_int_equal(create(2, 60, &clients), 0);
    fill(clients, p, n);
    connect_client(clients, &p[n], n); /* the one that is idle longest goes */
    assert_non_null(p[n].client);
    assert_true(is_over(&p[2]));
    for (int i = 0; i < n; i++)
        assert_int_equal(is_over(&p[i]), i == 2);
    leave(clients, &p[0]); /* its slot is for one of them */
    assert_true(clients_has_slot(clients, p[3].client));
    assert_false(clients_has_slot(clients, p[4].client));
    for (int i = 1; i <= n; i++)
        leave(clients, &p[i]);
    clients_destroy(clients);
}

static void a_new_one_is_refused_if_those_without_a_slot_are_busy_too(void **state)
{
    const int n = 2 + CLIENTS_EXTRA;
    struct clients *clients;
    struct pair p[2 + CLIENTS_EXTRA + 1];

    (void)state;
    assert_int_equal(create(2, 60, &clients), 0);
    fill(clients, p, n);
    for (int i = 2; i < n; i++)
        clients_set(clients, p[i].client, CLIENT_READS, i);
    connect_client(clients, &p[n], n);
    assert_null(p[n].client);
    assert_true(is_over(&p[n]));
    assert_false(is_over(&p[0]));
    for (int i = 0; i <= n; i++)
        leave(clients, &p[i]);
    clients_destroy(clients);
}

static void
when_answers_that_are_read_are_too_large_the_oldest_reader_goes(void **state)
{
    struct clients_state look;
    struct clients *clients;
    struct pair p[4];

    (void)state;
    assert_int_equal(create(10, 60, &clients), 0);
    for (int i = 0; i < 4; i++)
        connect_client(clients, &p[i], i);
    clients_reads(clients, p[0].client, 60, 10);
    clients_reads(clients, p[1].client, 40, 11);
    assert_false(is_over(&p[0]));
    clients_reads(clients, p[2].client, 1, 12);
    assert_true(is_over(&p[0]));
    assert_false(is_over(&p[1]));
    clients_set(clients, p[1].client, CLIENT_IDLE, 13); /* it has read all */
    clients_reads(clients, p[3].client, 99, 14);
    assert_false(is_over(&p[2]));
    clients_reads(clients, p[1].client, 1000, 15); /* not the newest, however large */
    assert_true(is_over(&p[2]));
    assert_true(is_over(&p[3]));
    assert_false(is_over(&p[1]));
    clients_look(clients, &look);
    assert_int_equal(look.unread, 3);
    for (int i = 0; i < 4; i++)
        leave(clients, &p[i]);
    clients_destroy(clients);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_is_late_is_disconnected),
        cmocka_unit_test(each_request_of_a_client_has_its_own_time),
        cmocka_unit_test(the_one_that_is_idle_longest_makes_room),
        cmocka_unit_test(one_that_sends_a_body_makes_room_if_none_is_idle),
        cmocka_unit_test(if_all_are_busy_a_few_more_connect_without_a_slot),
        cmocka_unit_test(a_new_one_is_refused_if_those_without_a_slot_are_busy_too),
        cmocka_unit_test(
            when_answers_that_are_read_are_too_large_the_oldest_reader_goes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
