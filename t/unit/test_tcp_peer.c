#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/tcp_peer.h"

union at {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* A connection to 127.0.0.1 by a socket of this family: what the accepting end knows.
 */
static void connection_make(int family, union at *peer, union at *here, int *client,
                            int *server)
{
    socklen_t n = sizeof here->v4, n_peer = sizeof *peer;
    union at to;
    int listening = socket(AF_INET, SOCK_STREAM, 0);

    memset(here, 0, sizeof *here);
    here->v4.sin_family = AF_INET;
    here->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listening, &here->any, sizeof here->v4), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, &here->any, &n), 0);
    to = *here;
    if (family == AF_INET6) {
        memset(&to, 0, sizeof to);
        to.v6.sin6_family = AF_INET6;
        to.v6.sin6_port = here->v4.sin_port;
        assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.v6.sin6_addr), 1);
    }
    *client = socket(family, SOCK_STREAM, 0);
    if (*client < 0)
        skip();
    assert_int_equal(
        connect(*client, &to.any, family == AF_INET6 ? sizeof to.v6 : sizeof to.v4), 0);
    *server = accept(listening, &peer->any, &n_peer);
    assert_true(*server >= 0);
    close(listening);
}

static void peer_is_this_user(int family)
{
    union at peer, here;
    int client, server;
    uid_t uid = (uid_t)-1;

    connection_make(family, &peer, &here, &client, &server);
    assert_int_equal(tcp_peer_find(&peer.any, &here.any, &uid), TCP_PEER_FOUND);
    assert_int_equal(uid, geteuid());
    close(client);
    close(server);
}

static void the_user_of_a_client_is_found(void **state)
{
    (void)state;
    peer_is_this_user(AF_INET);
}

static void the_user_of_an_ipv6_socket_that_reaches_ipv4_is_found(void **state)
{
    (void)state;
    peer_is_this_user(AF_INET6);
}

static void a_client_of_another_machine_is_elsewhere(void **state)
{
    union at peer, here;
    int client, server;
    uid_t uid;

    (void)state;
    connection_make(AF_INET, &peer, &here, &client, &server);
    peer.v4.sin_addr.s_addr = htonl(0x0a010203);
    assert_int_equal(tcp_peer_find(&peer.any, &here.any, &uid), TCP_PEER_ELSEWHERE);
    close(client);
    close(server);
}

static void a_client_that_is_gone_is_not_taken_for_root(void **state)
{
    union at peer, here;
    int client, server;
    uid_t uid;

    (void)state;
    connection_make(AF_INET, &peer, &here, &client, &server);
    close(client);
    close(server); /* now the client's end is in TIME_WAIT, or gone */
    assert_int_equal(tcp_peer_find(&peer.any, &here.any, &uid), TCP_PEER_ELSEWHERE);
}

static void a_socket_that_is_not_tcp_is_not_known(void **state)
{
    const struct sockaddr local = {.sa_family = AF_UNIX};
    uid_t uid;

    (void)state;
    assert_int_equal(tcp_peer_find(&local, &local, &uid), TCP_PEER_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_user_of_a_client_is_found),
        cmocka_unit_test(the_user_of_an_ipv6_socket_that_reaches_ipv4_is_found),
        cmocka_unit_test(a_client_of_another_machine_is_elsewhere),
        cmocka_unit_test(a_client_that_is_gone_is_not_taken_for_root),
        cmocka_unit_test(a_socket_that_is_not_tcp_is_not_known),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
