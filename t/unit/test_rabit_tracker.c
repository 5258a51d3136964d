/* The tracker of XGBoost 1.7: members that speak the protocol as the library does, and
 * strangers that do not. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "backend/address.h"
#include "xgboost/rabit_tracker.h"

#define MEMBERS 5
#define MAGIC   0xff99

static const unsigned char secret[RABIT_SECRET_BYTES] = "0123456789abcde";

struct place {
    union address at;
    struct rabit_tracker *tracker;
};

static void place_open(struct place *p, int members)
{
    struct error err;
    int fd;

    memset(p, 0, sizeof *p);
    p->at.v4.sin_family = AF_INET;
    p->at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd = address_listen(&p->at);
    assert_true(fd >= 0);
    assert_int_equal(rabit_tracker_start(fd, members, secret, &p->tracker, &err), 0);
}

/* Waits end: a tracker that keeps a connection is a failure, not a hang. */
static void patience_limit(int fd)
{
    const struct timeval limit = {.tv_sec = 60};

    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0)
        abort();
}

static int place_enter(const struct place *p)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    patience_limit(fd);
    if (fd < 0 || connect(fd, &p->at.any, address_length(&p->at)) < 0)
        abort();
    return fd;
}

/* ---- A member, as rabit has it ---- */

static bool put(int fd, int32_t value)
{
    return send(fd, &value, sizeof value, MSG_NOSIGNAL) == sizeof value;
}

static bool put_text(int fd, const char *text)
{
    ssize_t n = (ssize_t)strlen(text);

    return put(fd, (int32_t)n) && send(fd, text, (size_t)n, MSG_NOSIGNAL) == n;
}

/* -1: the connection is closed. */
static int32_t get(int fd)
{
    int32_t value;
    ssize_t n = recv(fd, &value, sizeof value, MSG_WAITALL);

    if (n < 0 && errno == EAGAIN)
        abort();
    return n == sizeof value ? value : -1;
}

static bool hello(int fd, int rank, int members, const char *task, const char *command)
{
    return put(fd, MAGIC) && get(fd) == MAGIC && put(fd, rank) && put(fd, members) &&
           put_text(fd, task) && put_text(fd, command);
}

struct member {
    const struct place *place;
    int rank, port, failures; /* how often it says that it could not connect */
    int connects, accepts, links, parent, prev, next;
    bool met;
};

static bool text_skip(int fd)
{
    char text[64];
    int32_t n = get(fd);

    return n > 0 && n < 64 && recv(fd, text, (size_t)n, MSG_WAITALL) == n;
}

/* Sends which links it has: none. */
static bool member_links(struct member *m, int fd)
{
    if (!put(fd, 0))
        return false;
    m->connects = get(fd);
    m->accepts = get(fd);
    for (int i = 0; i < m->connects; i++)
        if (!text_skip(fd) || get(fd) <= 0 || get(fd) >= m->rank)
            return false;
    return m->connects >= 0;
}

static void *member_main(void *arg)
{
    struct member *m = arg;
    char task[RABIT_TASK_MAX];
    int fd = place_enter(m->place);

    rabit_task_id(m->rank, secret, task);
    if (hello(fd, -1, -1, task, "start") && get(fd) == m->rank) {
        bool ok;

        m->parent = get(fd);
        ok = get(fd) == MEMBERS;
        m->links = get(fd);
        for (int i = 0; i < m->links; i++)
            (void)get(fd);
        m->prev = get(fd);
        m->next = get(fd);
        for (int k = 0; ok && k <= m->failures; k++)
            ok = member_links(m, fd) && put(fd, k < m->failures);
        m->met = ok && put(fd, m->port) && get(fd) == -1;
    }
    close(fd);
    return NULL;
}

static void members_meet(const struct place *p, struct member members[MEMBERS],
                         int failures, int port_of_2)
{
    pthread_t threads[MEMBERS];

    for (int r = 0; r < MEMBERS; r++) {
        members[r] = (struct member){.place = p,
                                     .rank = r,
                                     .port = r == 2 ? port_of_2 : 1000,
                                     .failures = r == 3 ? failures : 0};
        assert_int_equal(pthread_create(&threads[r], NULL, member_main, &members[r]),
                         0);
    }
    for (int r = 0; r < MEMBERS; r++)
        pthread_join(threads[r], NULL);
}

static void all_met(const struct member members[MEMBERS])
{
    int connects = 0, accepts = 0;

    for (int r = 0; r < MEMBERS; r++) {
        const struct member *m = &members[r];

        assert_true(m->met);
        assert_int_equal(m->parent, r > 0 ? (r - 1) / 2 : -1);
        assert_int_equal(m->prev, (r + MEMBERS - 1) % MEMBERS);
        assert_int_equal(m->next, (r + 1) % MEMBERS);
        connects += m->connects;
        accepts += m->accepts;
    }
    assert_int_equal(connects, accepts);
}

static void farewell(const struct place *p, int rank)
{
    char task[RABIT_TASK_MAX];
    int fd = place_enter(p);

    rabit_task_id(rank, secret, task);
    assert_true(hello(fd, rank, MEMBERS, task, "shutdown"));
    assert_int_equal(get(fd), -1);
    close(fd);
}

static void test_meet(void **state)
{
    struct member members[MEMBERS];
    struct place p;
    struct error err;

    (void)state;
    place_open(&p, MEMBERS);
    members_meet(&p, members, 2, 1000);
    all_met(members);
    for (int r = 0; r < MEMBERS; r++)
        farewell(&p, r);
    assert_int_equal(rabit_tracker_stop(p.tracker, &err), 0);
}

/* ---- Strangers ---- */

/* Each is refused: the connection ends. */
static void refused(const struct place *p, const void *bytes, size_t n)
{
    char back[64];
    int fd = place_enter(p);
    ssize_t k;

    (void)send(fd, bytes, n, MSG_NOSIGNAL);
    do
        k = recv(fd, back, sizeof back, 0);
    while (k > 0);
    close(fd);
}

static void refused_hello(const struct place *p, int members, const char *task,
                          const char *command)
{
    int fd = place_enter(p);

    (void)hello(fd, -1, members, task, command);
    assert_int_equal(get(fd), -1);
    close(fd);
}

static void refused_length(const struct place *p, int32_t length)
{
    int32_t words[4] = {MAGIC, -1, -1, length};

    refused(p, words, sizeof words);
}

static void test_strangers(void **state)
{
    struct member members[MEMBERS];
    char task[RABIT_TASK_MAX];
    unsigned char noise[4096];
    struct error err;
    struct place p;
    int silent[300];

    (void)state;
    place_open(&p, MEMBERS);
    for (int i = 0; i < 300; i++)
        silent[i] = place_enter(&p);
    refused(&p, "GET / HTTP/1.0\r\n\r\n", 18);
    refused_length(&p, -1);
    refused_length(&p, 0);
    refused_length(&p, INT32_MAX);
    refused_hello(&p, -1, "NULL", "start");
    refused_hello(&p, -1, "0000000000-", "start");
    rabit_task_id(MEMBERS, secret, task);
    refused_hello(&p, -1, task, "start");
    rabit_task_id(0, (const unsigned char *)"0123456789abcdX", task);
    refused_hello(&p, -1, task, "start");
    rabit_task_id(0, secret, task);
    refused_hello(&p, MEMBERS + 1, task, "start");
    refused_hello(&p, -1, task, "recover");
    refused_hello(&p, -1, task, "a command that is too long");
    srandom(7);
    for (int i = 0; i < 200; i++) {
        int32_t magic = MAGIC;

        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (unsigned char)random();
        memcpy(noise, &magic, sizeof magic);
        refused(&p, noise, sizeof noise);
    }
    members_meet(&p, members, 0, 1000);
    all_met(members);
    /* Each place is taken. */
    refused_hello(&p, -1, task, "start");
    for (int i = 0; i < 300; i++)
        close(silent[i]);
    assert_int_equal(rabit_tracker_stop(p.tracker, &err), 0);
}

/* ---- Failures ---- */

/* Member 2 has been introduced, and accepts member 3, which never comes. */
static void test_unreachable(void **state)
{
    struct member members[MEMBERS];
    union address at = {.v4 = {.sin_family = AF_INET}};
    int listening, fd;
    struct error err;
    struct place p;

    (void)state;
    at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listening = address_listen(&at);
    place_open(&p, MEMBERS);
    members_meet(&p, members, 100, address_port(&at));
    patience_limit(listening);
    fd = accept(listening, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(get(fd), -1);
    close(fd);
    close(listening);
    assert_true(members[2].met);
    assert_false(members[3].met || members[4].met);
    assert_int_equal(rabit_tracker_stop(p.tracker, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ECOMM);
    assert_non_null(strstr(err.text, "worker 3 could not connect"));
}

/* Members that are there already do not wait any longer. */
static void test_stop_early(void **state)
{
    char task[RABIT_TASK_MAX];
    struct error err;
    struct place p;
    int fd;

    (void)state;
    place_open(&p, MEMBERS);
    fd = place_enter(&p);
    rabit_task_id(1, secret, task);
    assert_true(hello(fd, -1, -1, task, "start"));
    assert_int_equal(rabit_tracker_stop(p.tracker, &err), 0);
    assert_int_equal(get(fd), -1);
    close(fd);
    assert_int_equal(rabit_tracker_stop(NULL, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meet),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_stop_early),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
