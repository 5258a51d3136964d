/* The workers of a service: children of this program itself, which connect and then do
 * what they are asked. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>

#include "crew/crew.h"
#include "scratch.h"
#include "util/clock.h"
#include "util/fs.h"

#define WORKERS 2
#define LIMIT_S 20.0

/* ---- A child ---- */

static int front_connect(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", getenv(MEMBER_SOCKET));
    return connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 ? fd : -1;
}

static bool is_first(void)
{
    return strcmp(getenv(MEMBER_INDEX), "0") == 0;
}

static bool file_make(const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Signs of life, until the service closes the connection. The first worker gives one
 * only, in its first child. */
static int child_beat(int fd)
{
    int beats = front_connect();
    bool hangs = is_first() && file_make("hung");
    struct pollfd on = {.fd = fd, .events = POLLIN};

    do {
        if (write(beats, "", 1) != 1)
            return 4;
        while (hangs)
            pause();
    } while (poll(&on, 1, 20) == 0);
    return 0;
}

/* "serve": until the connection is closed; a byte kills it. "early": it ends before it
 * connects. "mute": after that. "deaf": it does not end. "broken": like "early" while
 * there is a file of this name. "late": the first worker ends before it connects, once,
 * and the others wait for that. "beat": with signs of life. */
static int child_main(const char *kind)
{
    char byte;
    int fd;

    if (strcmp(kind, "early") == 0 || access(kind, F_OK) == 0)
        return 3;
    if (strcmp(kind, "late") == 0 && is_first() && file_make("failed"))
        return 3;
    while (strcmp(kind, "late") == 0 && access("failed", F_OK) < 0)
        usleep(1000);
    fd = front_connect();
    if (fd < 0)
        return 4;
    if (strcmp(kind, "mute") == 0)
        return 5;
    if (write(fd, "h", 1) != 1)
        return 4;
    if (strcmp(kind, "beat") == 0)
        return child_beat(fd);
    if (read(fd, &byte, 1) == 1)
        raise(SIGKILL);
    while (strcmp(kind, "deaf") == 0)
        pause();
    return 0;
}

/* ---- What the crew says ---- */

static struct {
    struct event_loop *loop;
    struct crew *crew;
    int fds[16], n_fds;
    int groups[16];
    int ready, gone, notes, hangs; /* how often */
    int last_ready, last_gone, fds_when_ready;
    char why[ERROR_TEXT_MAX], note[ERROR_TEXT_MAX];
    bool gone_well;
    raytrain_status code;
} seen;

static void on_joined(void *arg, int group, int fd)
{
    (void)arg;
    seen.groups[seen.n_fds] = group;
    seen.fds[seen.n_fds++] = fd;
}

static void on_ready(void *arg, int group)
{
    (void)arg;
    seen.ready++;
    seen.fds_when_ready = seen.n_fds;
    seen.last_ready = group;
}

static void on_gone(void *arg, int group, const struct error *why)
{
    (void)arg;
    seen.gone++;
    seen.last_gone = group;
    seen.gone_well = !why;
    snprintf(seen.why, sizeof seen.why, "%s", why ? why->text : "");
    seen.code = why ? why->code : RAYTRAIN_OK;
}

static void on_note(void *arg, const char *text)
{
    (void)arg;
    seen.notes++;
    seen.hangs += strstr(text, "worker 0 gives no sign of life for 1 s") != NULL;
    snprintf(seen.note, sizeof seen.note, "%s", text);
}

static void crew_of(const char *kind, int max_failures)
{
    static char *argv[] = {(char *)"/proc/self/exe", (char *)"--child", NULL, NULL};
    struct crew_config config = {.loop = seen.loop,
                                 .argv = argv,
                                 .sockets = ".",
                                 .runs = "runs",
                                 .workers = WORKERS,
                                 .max_failures = max_failures,
                                 .grace_s = 0.05,
                                 .silent_s = 1.0,
                                 .joined = on_joined,
                                 .ready = on_ready,
                                 .gone = on_gone,
                                 .note = on_note};

    argv[2] = (char *)(uintptr_t)kind;
    assert_int_equal(crew_create(&config, &seen.crew, NULL), 0);
}

static int group_start(const char *checkpoint)
{
    struct error err;
    int group;

    if (crew_start(seen.crew, checkpoint, &group, &err) < 0)
        fail_msg("%s", err.text);
    return group;
}

/* Turn the loop until *count is n. */
static void until(const int *count, int n)
{
    double limit = clock_now() + LIMIT_S;
    struct error err;

    while (*count < n) {
        if (clock_now() > limit)
            fail_msg("%d of %d", *count, n);
        if (crew_groups(seen.crew) == 0)
            fail_msg("all are gone: %s", seen.why);
        if (event_loop_turn(seen.loop, LIMIT_S, &err) < 0)
            fail_msg("%s", err.text);
    }
    assert_int_equal(*count, n);
}

static int setup(void **state)
{
    memset(&seen, 0, sizeof seen);
    return scratch_enter(state) || event_loop_create(&seen.loop, NULL);
}

static int teardown(void **state)
{
    crew_destroy(seen.crew);
    for (int i = 0; i < seen.n_fds; i++)
        close(seen.fds[i]);
    event_loop_destroy(seen.loop);
    return scratch_leave(state);
}

/* ---- Tests ---- */

static void a_group_is_ready_when_all_its_workers_are(void **state)
{
    (void)state;
    crew_of("serve", -1);
    assert_int_equal(group_start("7"), 0);
    until(&seen.ready, 1);
    assert_int_equal(seen.fds_when_ready, WORKERS);
    assert_int_equal(seen.groups[0], 0);
    assert_int_equal(crew_groups(seen.crew), 1);
}

static void connections_drop(int from, int n)
{
    for (int i = from; i < from + n; i++)
        shutdown(seen.fds[i], SHUT_RDWR);
}

static void a_new_version_replaces_the_old_one(void **state)
{
    (void)state;
    crew_of("serve", -1);
    group_start("7");
    until(&seen.ready, 1);
    assert_int_equal(group_start("8"), 1);
    until(&seen.ready, 2);
    assert_int_equal(seen.last_ready, 1);
    assert_int_equal(seen.groups[WORKERS], 1);
    crew_retire(seen.crew, 0);
    connections_drop(0, WORKERS);
    until(&seen.gone, 1);
    assert_int_equal(seen.last_gone, 0);
    assert_true(seen.gone_well);
    assert_int_equal(seen.notes, 0);
    assert_int_equal(crew_groups(seen.crew), 1);
    assert_int_equal(scratch_count("."), WORKERS); /* the sockets of the new ones */
}

static void a_worker_that_dies_is_started_again(void **state)
{
    (void)state;
    crew_of("serve", -1);
    group_start("7");
    until(&seen.ready, 1);
    assert_int_equal(write(seen.fds[0], "x", 1), 1);
    until(&seen.n_fds, WORKERS + 1);
    assert_int_equal(seen.notes, 1);
    assert_non_null(strstr(seen.note, "killed by signal 9"));
    assert_int_equal(seen.ready, 1); /* it was */
    assert_int_equal(seen.gone, 0);
}

static void there_is_an_end_to_restarts(void **state)
{
    (void)state;
    crew_of("serve", 1);
    group_start("7");
    until(&seen.ready, 1);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(write(seen.fds[i], "x", 1), 1);
    until(&seen.n_fds, 2 * WORKERS);
    for (int i = WORKERS; i < 2 * WORKERS; i++)
        assert_int_equal(write(seen.fds[i], "x", 1), 1);
    until(&seen.gone, 1);
    assert_false(seen.gone_well);
    assert_non_null(strstr(seen.why, "killed by signal 9"));
    assert_int_equal(seen.code, RAYTRAIN_EFAILED);
    assert_int_equal(crew_groups(seen.crew), 0);
}

static void a_model_that_cannot_be_loaded_is_not_tried_again(void **state)
{
    (void)state;
    crew_of("early", -1);
    group_start("7");
    until(&seen.gone, 1);
    assert_int_equal(seen.notes, WORKERS - 1);
    assert_non_null(strstr(seen.why, "ended with status 3 before its model"));
    assert_int_equal(error_exit_status(seen.code), 3);
    assert_int_equal(scratch_count("."), 0);
}

static void one_that_has_served_is_started_until_it_serves_again(void **state)
{
    (void)state;
    assert_true(file_make("7"));
    crew_of("broken", -1);
    group_start("7");
    until(&seen.ready, 1);
    assert_true(file_make("broken"));
    assert_int_equal(write(seen.fds[0], "x", 1), 1);
    until(&seen.notes, 2);
    assert_non_null(strstr(seen.note, "ended with status 3 before its model"));
    assert_int_equal(unlink("broken"), 0);
    until(&seen.n_fds, WORKERS + 1);
    assert_int_equal(seen.gone, 0);
}

static void one_whose_checkpoint_is_gone_is_not(void **state)
{
    (void)state;
    crew_of("broken", -1);
    group_start("7");
    until(&seen.ready, 1);
    assert_true(file_make("broken"));
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(write(seen.fds[i], "x", 1), 1);
    until(&seen.gone, 1);
    assert_non_null(strstr(seen.why, "before its model"));
}

static void one_that_cannot_load_a_model_that_others_can_is_started_again(void **state)
{
    (void)state;
    assert_true(file_make("7"));
    crew_of("late", -1);
    group_start("7");
    until(&seen.ready, 1);
    assert_int_equal(seen.fds_when_ready, WORKERS);
    assert_int_equal(seen.gone, 0);
}

static void one_that_hangs_is_replaced_and_a_busy_one_is_not(void **state)
{
    (void)state;
    crew_of("beat", -1);
    group_start("7");
    until(&seen.ready, 1);
    until(&seen.n_fds, WORKERS + 1);
    assert_int_equal(seen.hangs, 1);
    assert_int_equal(seen.notes, 2); /* and that its child has ended */
    assert_int_equal(seen.gone, 0);
}

static void to_connect_is_not_to_be_ready(void **state)
{
    (void)state;
    crew_of("mute", -1);
    group_start("7");
    until(&seen.gone, 1);
    assert_int_equal(seen.n_fds, 0);
    assert_non_null(strstr(seen.why, "ended with status 5 before its model"));
    assert_int_equal(error_exit_status(seen.code), 5);
}

static void a_worker_that_does_not_end_is_killed(void **state)
{
    (void)state;
    crew_of("deaf", -1);
    group_start("7");
    until(&seen.ready, 1);
    crew_retire(seen.crew, 0);
    connections_drop(0, WORKERS);
    until(&seen.gone, 1);
    assert_true(seen.gone_well);
}

static void workers_that_are_still_loading_can_be_retired(void **state)
{
    (void)state;
    crew_of("deaf", -1);
    group_start("7");
    crew_retire(seen.crew, 0);
    until(&seen.gone, 1);
    assert_true(seen.gone_well);
    assert_int_equal(crew_groups(seen.crew), 0);
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(a_group_is_ready_when_all_its_workers_are),
        TEST(a_new_version_replaces_the_old_one),
        TEST(a_worker_that_dies_is_started_again),
        TEST(there_is_an_end_to_restarts),
        TEST(a_model_that_cannot_be_loaded_is_not_tried_again),
        TEST(one_that_has_served_is_started_until_it_serves_again),
        TEST(one_whose_checkpoint_is_gone_is_not),
        TEST(one_that_cannot_load_a_model_that_others_can_is_started_again),
        TEST(one_that_hangs_is_replaced_and_a_busy_one_is_not),
        TEST(to_connect_is_not_to_be_ready),
        TEST(a_worker_that_does_not_end_is_killed),
        TEST(workers_that_are_still_loading_can_be_retired),
    };

    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return child_main(argv[2]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
