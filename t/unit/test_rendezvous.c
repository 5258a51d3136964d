/* The rendezvous of nodes whose network interfaces are made up: every "node" is this
 * machine, with the addresses of loopback as if they were those of networks. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/rendezvous.h"
#include "thread_comm.h"
#include "util/clock.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* ---- The interfaces ---- */

struct interface {
    const char *name, *address;
    unsigned flags;
};

static const struct interface *interfaces;
static size_t n_interfaces;

static struct sockaddr *socket_address(const char *text)
{
    union address *a = calloc(1, sizeof *a);

    assert_non_null(a);
    if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1)
        a->v4.sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1)
        a->v6.sin6_family = AF_INET6;
    return &a->any;
}

int getifaddrs(struct ifaddrs **list)
{
    *list = NULL;
    for (size_t i = n_interfaces; i-- > 0;) {
        struct ifaddrs *one = calloc(1, sizeof *one);

        one->ifa_name = strdup(interfaces[i].name);
        one->ifa_flags = interfaces[i].flags;
        one->ifa_addr =
            interfaces[i].address ? socket_address(interfaces[i].address) : NULL;
        one->ifa_next = *list;
        *list = one;
    }
    return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
    while (list) {
        struct ifaddrs *next = list->ifa_next;

        free(list->ifa_name);
        free(list->ifa_addr);
        free(list);
        list = next;
    }
}

static void have(const struct interface *list, size_t n)
{
    interfaces = list;
    n_interfaces = n;
    unsetenv("GLOO_SOCKET_IFNAME");
}

/* ---- The network ---- */

/* TCP connections to `blocked` are refused; those to `elsewhere` reach the server
 * `stranger`, as if the other node had this address itself. */
static const char *blocked, *elsewhere;
static union address stranger;

int connect(int fd, const struct sockaddr *to, socklen_t n)
{
    char text[INET6_ADDRSTRLEN];
    int type = 0;
    socklen_t n_type = sizeof type;

    address_text((const union address *)(const void *)to, text);
    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n_type);
    if (type == SOCK_STREAM && blocked && strcmp(text, blocked) == 0) {
        errno = ECONNREFUSED;
        return -1;
    }
    if (type == SOCK_STREAM && elsewhere && strcmp(text, elsewhere) == 0)
        return (int)syscall(SYS_connect, fd, &stranger.any, address_length(&stranger));
    return (int)syscall(SYS_connect, fd, to, n);
}

/* ---- Ranks ---- */

/* Two ranks on node 0, one on node 1. */
static const struct world worlds[] = {
    {.rank = 0,
     .size = 3,
     .local_rank = 0,
     .local_size = 2,
     .node_rank = 0,
     .n_nodes = 2},
    {.rank = 1,
     .size = 3,
     .local_rank = 1,
     .local_size = 2,
     .node_rank = 0,
     .n_nodes = 2},
    {.rank = 2,
     .size = 3,
     .local_rank = 0,
     .local_size = 1,
     .node_rank = 1,
     .n_nodes = 2},
};

struct outcome {
    enum rendezvous_ports ports;
    bool one_node;
    struct rendezvous of[3];
    struct error err[3];
};

static int meet(struct comm *c, void *arg)
{
    struct outcome *o = arg;
    struct world world = worlds[c->rank];

    if (o->one_node) {
        world.n_nodes = 1;
        world.node_rank = 0;
    }
    return rendezvous_make(c, &world, o->ports, &o->of[c->rank], &o->err[c->rank]);
}

static void outcome_clear(struct outcome *o)
{
    for (int r = 0; r < 3; r++)
        rendezvous_clear(&o->of[r]);
}

static void expect_address(const struct outcome *o, const int rc[3],
                           const char *address)
{
    for (int r = 0; r < 3; r++) {
        if (rc[r] < 0)
            fail_msg("rank %d: %s", r, o->err[r].text);
        assert_int_equal(o->of[r].size, 3);
        assert_string_equal(o->of[r].seats[0].address, address);
        assert_string_equal(o->of[r].seats[1].address, address);
        assert_int_equal(o->of[r].seats[1].local_rank, 1);
        assert_int_equal(o->of[r].seats[2].node, 1);
    }
}

static const struct interface two_networks[] = {
    {"lo", "127.0.0.1", IFF_UP | IFF_LOOPBACK},
    {"eth0", "127.0.0.2", IFF_UP},
    {"eth1", "127.0.0.3", IFF_UP},
};

static void the_first_address_that_all_nodes_reach_is_chosen(void **state)
{
    struct outcome o = {.ports = PORT_OF_RANK_0};
    int rc[3];

    (void)state;
    have(two_networks, N(two_networks));
    thread_comm_run(3, meet, &o, rc);
    expect_address(&o, rc, "127.0.0.2");
    assert_string_equal(o.of[0].interface, "eth0");
    assert_string_equal(o.of[1].interface, "eth0");
    assert_string_equal(o.of[2].interface, "lo"); /* from which it reaches eth0 */
    assert_string_equal(o.of[0].seats[2].address, "127.0.0.1");
    outcome_clear(&o);
}

static void an_address_that_a_node_does_not_reach_is_not_chosen(void **state)
{
    struct outcome o = {.ports = PORT_OF_RANK_0};
    int rc[3];

    (void)state;
    have(two_networks, N(two_networks));
    blocked = "127.0.0.2";
    thread_comm_run(3, meet, &o, rc);
    blocked = NULL;
    expect_address(&o, rc, "127.0.0.3");
    outcome_clear(&o);
}

/* The stranger accepts connections (its backlog does), and never answers. */
static void an_address_at_which_a_stranger_listens_is_not_chosen(void **state)
{
    struct outcome o = {.ports = PORT_OF_RANK_0};
    int rc[3], listening;

    (void)state;
    have(two_networks, N(two_networks));
    memset(&stranger, 0, sizeof stranger);
    stranger.v4.sin_family = AF_INET;
    stranger.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listening = address_listen(&stranger);
    assert_true(listening >= 0);
    elsewhere = "127.0.0.2";
    thread_comm_run(3, meet, &o, rc);
    elsewhere = NULL;
    close(listening);
    expect_address(&o, rc, "127.0.0.3");
    outcome_clear(&o);
}

static void the_users_interface_is_preferred(void **state)
{
    struct outcome o = {.ports = PORT_OF_RANK_0};
    int rc[3];

    (void)state;
    have(two_networks, N(two_networks));
    setenv("GLOO_SOCKET_IFNAME", "ib7,eth1", 1);
    thread_comm_run(3, meet, &o, rc);
    unsetenv("GLOO_SOCKET_IFNAME");
    expect_address(&o, rc, "127.0.0.3");
    outcome_clear(&o);
}

static void addresses_that_no_node_reaches_are_named(void **state)
{
    struct outcome o = {.ports = PORT_OF_RANK_0};
    int rc[3];

    (void)state;
    have(two_networks, 2);
    blocked = "127.0.0.2";
    thread_comm_run(3, meet, &o, rc);
    blocked = NULL;
    for (int r = 0; r < 3; r++) {
        assert_int_equal(rc[r], -1);
        assert_int_equal(o.err[r].code, RAYTRAIN_ECOMM);
        assert_non_null(strstr(o.err[r].text, "rank 2 "));
        assert_non_null(strstr(o.err[r].text, "127.0.0.2"));
    }
}

static void a_node_without_network_is_an_error_on_all_ranks(void **state)
{
    struct outcome o = {.ports = PORT_OF_RANK_0};
    int rc[3];

    (void)state;
    have(two_networks, 1);
    thread_comm_run(3, meet, &o, rc);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(rc[r], -1);
        assert_non_null(strstr(o.err[r].text, "no network interface is up"));
    }
}

static void ranks_of_one_node_meet_at_loopback(void **state)
{
    struct outcome o = {.ports = PORT_OF_EACH_RANK, .one_node = true};
    int rc[3];

    (void)state;
    have(two_networks, N(two_networks));
    thread_comm_run(3, meet, &o, rc);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(rc[r], 0);
        assert_string_equal(o.of[0].seats[r].address, "127.0.0.1");
        assert_string_equal(o.of[r].interface, "lo");
        assert_true(o.of[0].seats[r].port > 0 && o.of[r].socket >= 0);
        for (int s = 0; s < r; s++)
            assert_int_not_equal(o.of[0].seats[r].port, o.of[0].seats[s].port);
    }
    outcome_clear(&o);
}

/* ---- Ports ---- */

/* A socket that is bound as a framework does it; -1 and errno. */
static int bind_and_listen(const char *address, int port, bool reuse)
{
    struct sockaddr *a = socket_address(address);
    int yes = reuse, saved, fd = socket(a->sa_family, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    address_set_port((union address *)a, port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, a, address_length((union address *)a)) < 0 || listen(fd, 8) < 0) {
        saved = errno;
        close(fd);
        errno = saved;
        fd = -1;
    }
    free(a);
    return fd;
}

static void a_held_port_is_for_the_framework_alone(void **state)
{
    static const char *const addresses[] = {"127.0.0.1", "0.0.0.0", "::"};
    int port, held = port_hold(&port);

    (void)state;
    assert_true(held >= 0);
    for (size_t i = 0; i < N(addresses); i++) {
        int fd = bind_and_listen(addresses[i], port, false);

        if (fd < 0 && errno == EAFNOSUPPORT)
            continue; /* no IPv6 here */
        assert_int_equal(fd, -1);
        assert_int_equal(errno, EADDRINUSE);
        fd = bind_and_listen(addresses[i], port, true);
        assert_true(fd >= 0);
        close(fd);
    }
    close(held);
}

/* Nothing listens at a held port. */
static void a_held_port_refuses_connections(void **state)
{
    union address to = {.v4 = {.sin_family = AF_INET}};
    int port, held = port_hold(&port), fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    to.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address_set_port(&to, port);
    assert_int_equal(connect(fd, &to.any, address_length(&to)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    close(held);
}

/* ---- Addresses ---- */

static void addresses_of_use_to_other_nodes_are_ordered(void **state)
{
    static const struct interface all[] = {
        {"lo", "127.0.0.1", IFF_UP | IFF_LOOPBACK},
        {"bond0", NULL, IFF_UP},
        {"eth0", "169.254.7.7", IFF_UP},
        {"eth1", "fd00::1", IFF_UP},
        {"eth1", "fe80::1", IFF_UP},
        {"eth2", "10.0.0.2", 0},
        {"eth3", "10.0.0.3", IFF_UP},
        {"ib0", "fd00::2", IFF_UP},
        {"ib0", "10.1.0.1", IFF_UP},
    };
    static const char *const expect[] = {"fd00::2", "10.1.0.1", "10.0.0.3", "fd00::1",
                                         "169.254.7.7"};
    struct local_address out[ADDRESSES_MAX];
    struct ifaddrs *list;
    char text[INET6_ADDRSTRLEN];

    (void)state;
    have(all, N(all));
    getifaddrs(&list);
    assert_int_equal(addresses_choose(list, "ib0", out), N(expect));
    for (size_t i = 0; i < N(expect); i++) {
        address_text(&out[i].address, text);
        assert_string_equal(text, expect[i]);
    }
    assert_string_equal(out[0].interface, "ib0");
    assert_int_equal(addresses_choose(list, NULL, out), N(expect));
    address_text(&out[0].address, text);
    assert_string_equal(text, "10.0.0.3");
    freeifaddrs(list);
}

static void addresses_of_ipv6_are_in_brackets_before_a_port(void **state)
{
    char text[HOST_PORT_MAX];

    (void)state;
    address_host_port("10.0.0.1", 29500, text);
    assert_string_equal(text, "10.0.0.1:29500");
    address_host_port("fd00::1", 1, text);
    assert_string_equal(text, "[fd00::1]:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_address_that_all_nodes_reach_is_chosen),
        cmocka_unit_test(an_address_that_a_node_does_not_reach_is_not_chosen),
        cmocka_unit_test(an_address_at_which_a_stranger_listens_is_not_chosen),
        cmocka_unit_test(the_users_interface_is_preferred),
        cmocka_unit_test(addresses_that_no_node_reaches_are_named),
        cmocka_unit_test(a_node_without_network_is_an_error_on_all_ranks),
        cmocka_unit_test(ranks_of_one_node_meet_at_loopback),
        cmocka_unit_test(a_held_port_is_for_the_framework_alone),
        cmocka_unit_test(a_held_port_refuses_connections),
        cmocka_unit_test(addresses_of_use_to_other_nodes_are_ordered),
        cmocka_unit_test(addresses_of_ipv6_are_in_brackets_before_a_port),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
