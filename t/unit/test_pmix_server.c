#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "local/pmix_server.h"
#include "util/argv.h"
#include "util/child.h"
#include "util/fs.h"

#define WORKERS 3

extern char **environ;

static char private_dir[] = "/tmp/raytrain-test-XXXXXX";
static char client[4096];

static int dir_make(void **state)
{
    const char *build = getenv("top_builddir");

    (void)state;
    snprintf(client, sizeof client, "%s/t/check/pmix_client", build ? build : ".");
    alarm(120); /* a hang is a failure */
    return mkdtemp(private_dir) ? 0 : -1;
}

static int dir_remove(void **state)
{
    (void)state;
    return fs_remove_tree(private_dir, NULL);
}

/* Wait for the variables of worker `rank`. */
static int env_await(struct pmix_server *s, int rank, char ***env, struct error *err)
{
    struct pollfd pfd = {.fd = pmix_server_fd(s), .events = POLLIN};
    int got;

    while ((got = pmix_server_worker_env(s, rank, env, err)) == 0)
        assert_int_equal(poll(&pfd, 1, -1), 1);
    return got;
}

static void clients_start(struct pmix_server *s, struct child *children,
                          const char *mode, const char *rank)
{
    char *argv[] = {client, (char *)mode, (char *)rank, NULL};
    struct error err;

    for (int i = 0; i < WORKERS; i++) {
        struct child_spec spec = {.argv = argv, .in = -1, .out = 2, .err = 2};
        char **env = NULL;

        assert_int_equal(argv_append_all(&env, environ, &err), 0);
        assert_int_equal(env_await(s, i, &env, &err), 1);
        spec.env = env;
        assert_int_equal(child_spawn(&spec, &children[i], &err), 0);
        argv_free(env);
    }
}

/* A process can start one server after another, as for the attempts of a run. */
static void workers_exchange_again_and_again(void **state)
{
    struct pmix_server *s;
    struct child children[WORKERS];
    struct error err;
    int status;

    (void)state;
    for (int attempt = 0; attempt < 3; attempt++) {
        assert_int_equal(
            pmix_server_start(WORKERS, private_dir, "RAYTRAIN_GROUP=test", &s, &err),
            0);
        clients_start(s, children, "exchange", NULL);
        for (int i = 0; i < WORKERS; i++) {
            assert_int_equal(child_wait(&children[i], &status, &err), 0);
            assert_int_equal(status, 0);
        }
        pmix_server_stop(s);
    }
}

/* The user's settings of the library reach the workers. */
static void user_settings_win(void **state)
{
    struct pmix_server *s;
    struct error err;
    char **env = NULL;

    (void)state;
    setenv("PMIX_MCA_gds", "^ds12", 1);
    assert_int_equal(pmix_server_start(1, private_dir, "RAYTRAIN_GROUP=test", &s, &err),
                     0);
    assert_int_equal(env_await(s, 0, &env, &err), 1);
    for (size_t i = 0; env[i]; i++)
        assert_null(strstr(env[i], "PMIX_MCA_gds"));
    pmix_server_stop(s);
    unsetenv("PMIX_MCA_gds");
    argv_free(env);
}

static void the_death_of_the_server_is_noticed(void **state)
{
    struct pmix_server *s;
    struct pmix_abort_call call;
    struct error err;
    char **env = NULL;

    (void)state;
    assert_int_equal(pmix_server_start(0, private_dir, "RAYTRAIN_GROUP=test", &s, &err),
                     -1);
    pmix_server_stop(NULL);
    assert_int_equal(pmix_server_start(2, private_dir, "RAYTRAIN_GROUP=test", &s, &err),
                     0);
    assert_int_equal(env_await(s, 0, &env, &err), 1);
    assert_int_equal(pmix_server_next(s, &call), PMIX_SERVER_QUIET);
    assert_int_equal(kill(pmix_server_pid(s), SIGKILL), 0);
    while (env_await(s, 1, &env, &err) > 0)
        continue;
    assert_int_equal(err.code, RAYTRAIN_ECOMM);
    assert_int_equal(pmix_server_next(s, &call), PMIX_SERVER_DEAD);
    pmix_server_stop(s);
    argv_free(env);
}

static void an_unusable_directory_is_an_error(void **state)
{
    struct pmix_server *s = NULL;
    struct error err;

    (void)state;
    assert_int_equal(
        pmix_server_start(1, "/no/such/dir", "RAYTRAIN_GROUP=test", &s, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/dir"));
    assert_null(s);
}

/* Is socket `inode` open in process pid? */
static int socket_is_of(unsigned long inode, pid_t pid)
{
    char link[64], target[64], name[64];

    snprintf(name, sizeof name, "socket:[%lu]", inode);
    for (int fd = 0; fd < 256; fd++) {
        ssize_t n;

        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd);
        n = readlink(link, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strcmp(target, name) == 0)
            return 1;
    }
    return 0;
}

/* Sockets of pid that listen; how many of them on another address than loopback? */
static int listens_elsewhere(const char *table, const char *loopback, pid_t pid,
                             int *listening)
{
    FILE *f = fopen(table, "re");
    char line[512], address[64];
    unsigned int status;
    unsigned long inode;
    int elsewhere = 0;

    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, " %*d: %63[^:]:%*x %*s %x %*s %*s %*s %*d %*d %lu", address,
                   &status, &inode) != 3 ||
            status != 0x0a || !socket_is_of(inode, pid))
            continue;
        *listening += 1;
        elsewhere += strcmp(address, loopback) != 0;
    }
    if (f)
        fclose(f);
    return elsewhere;
}

static void the_server_listens_on_loopback_only(void **state)
{
    struct pmix_server *s;
    struct error err;
    char **env = NULL;
    int listening = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(pmix_server_start(1, private_dir, "RAYTRAIN_GROUP=test", &s, &err),
                     0);
    assert_int_equal(env_await(s, 0, &env, &err), 1);
    pid = pmix_server_pid(s);
    assert_int_equal(listens_elsewhere("/proc/net/tcp", "0100007F", pid, &listening),
                     0);
    assert_int_equal(listens_elsewhere("/proc/net/tcp6",
                                       "00000000000000000000000001000000", pid,
                                       &listening),
                     0);
    assert_int_equal(listening, 1);
    pmix_server_stop(s);
    argv_free(env);
}

static void abort_is_reported(void **state)
{
    struct pmix_server *s;
    struct child children[WORKERS];
    struct pmix_abort_call call;
    struct error err;
    int status;

    (void)state;
    assert_int_equal(
        pmix_server_start(WORKERS, private_dir, "RAYTRAIN_GROUP=test", &s, &err), 0);
    clients_start(s, children, "abort", "1");
    assert_int_equal(child_wait(&children[1], &status, &err), 0);
    assert_int_equal(pmix_server_next(s, &call), PMIX_SERVER_ABORTED);
    assert_int_equal(call.rank, 1);
    assert_int_equal(call.status, 42);
    assert_string_equal(call.msg, "out of luck");
    assert_int_equal(pmix_server_next(s, &call), PMIX_SERVER_QUIET);
    child_clear(&children[0]);
    child_clear(&children[2]);
    pmix_server_stop(s);
}

/* One worker is gone, the others are killed inside a fence: no hang, nothing left. */
static void the_server_stops_after_a_broken_fence(void **state)
{
    static const char *const modes[] = {"die", "leave"};
    struct pmix_server *s;
    struct child children[WORKERS];
    struct error err;
    int status;

    (void)state;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        assert_int_equal(
            pmix_server_start(WORKERS, private_dir, "RAYTRAIN_GROUP=test", &s, &err),
            0);
        clients_start(s, children, modes[m], "2");
        assert_int_equal(child_wait(&children[2], &status, &err), 0);
        assert_int_not_equal(status, 0);
        child_clear(&children[0]);
        child_clear(&children[1]);
        pmix_server_stop(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_exchange_again_and_again),
        cmocka_unit_test(user_settings_win),
        cmocka_unit_test(the_death_of_the_server_is_noticed),
        cmocka_unit_test(an_unusable_directory_is_an_error),
        cmocka_unit_test(the_server_listens_on_loopback_only),
        cmocka_unit_test(abort_is_reported),
        cmocka_unit_test(the_server_stops_after_a_broken_fence),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
