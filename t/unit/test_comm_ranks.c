/*
 * Several ranks of t/check/comm, started by the local launcher: the wireup, the PMI
 * bridge and every collective over the real thing. And what killed ranks leave behind.
 */
#include "config.h"

#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/launcher.h"
#include "util/fs.h"
#include "util/shm_tidy.h"

static char scratch[] = "/tmp/raytrain-test-XXXXXX";
static char program[4096];

static int scratch_make(void **state)
{
    const char *build = getenv("top_builddir");

    (void)state;
    alarm(300); /* a hang is a failure */
    snprintf(program, sizeof program, "%s/t/check/comm", build ? build : ".");
    return mkdtemp(scratch) ? 0 : -1;
}

static int scratch_remove(void **state)
{
    (void)state;
    return fs_remove_tree(scratch, NULL);
}

static struct group *start(int workers)
{
    struct placed_node node = {.name = (char *)"here", .tasks = workers};
    struct placement plan = {
        .workers = workers, .nodes = &node, .n_nodes = 1, .cpus_per_worker = 1};
    char number[16], *argv[] = {program, number, NULL};
    struct launch_spec spec = {
        .plan = &plan, .argv = argv, .log_dir = scratch, .job_name = "test"};
    struct group *g = NULL;
    struct error err;

    snprintf(number, sizeof number, "%d", workers);
    if (launcher_local.start(&spec, &g, &err) < 0)
        fail_msg("%s", err.text);
    return g;
}

/* Until they run, and have their logs. */
static void await_workers(struct group *g)
{
    struct pollfd pfd = {.fd = launcher_local.fd(g), .events = POLLIN};
    struct launch_outcome outcome;
    struct error err;
    char log[128];
    bool done;

    snprintf(log, sizeof log, "%s/rank-00000.out", scratch);
    unlink(log);
    while (access(log, F_OK) != 0) {
        assert_int_equal(poll(&pfd, 1, -1), 1);
        assert_int_equal(launcher_local.advance(g, &done, &outcome, &err), 0);
    }
}

static struct launch_outcome finish(struct group *g)
{
    struct pollfd pfd = {.fd = launcher_local.fd(g), .events = POLLIN};
    struct launch_outcome outcome;
    struct error err;
    bool done = false;

    while (!done) {
        assert_int_equal(poll(&pfd, 1, -1), 1);
        assert_int_equal(launcher_local.advance(g, &done, &outcome, &err), 0);
    }
    launcher_local.destroy(g);
    return outcome;
}

static char *log_text(int rank, const char *which)
{
    char path[128], *text;

    snprintf(path, sizeof path, "%s/rank-%05d.%s", scratch, rank, which);
    assert_int_equal(fs_read(path, &text, NULL, NULL), 0);
    return text;
}

static void ranks_agree_on_everything(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n++) {
        struct launch_outcome outcome = finish(start(n));

        for (int r = 0; r < n; r++) {
            char *out = log_text(r, "out"), *err = log_text(r, "err"), expect[64];

            snprintf(expect, sizeof expect,
                     "rank %d of %d, local %d of %d, node 0 of 1", r, n, r, n);
            if (!strstr(out, expect) || !strstr(out, ": 0 failures"))
                fail_msg("rank %d of %d: %s%s", r, n, out, err);
            free(out);
            free(err);
        }
        assert_false(outcome.failed);
    }
}

static int shm_count(void)
{
    DIR *dir = opendir("/dev/shm");
    int n = 0;

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += strncmp(e->d_name, "mpich_shar_tmp", 14) == 0 ||
             strncmp(e->d_name, "ucx_shm_posix_", 14) == 0 ||
             strncmp(e->d_name, "vader_segment.", 14) == 0;
    closedir(dir);
    return n;
}

/* Killed at one time after another of their start, ranks leave nothing that the next
 * worker to start on this node would not clear away. */
static void killed_ranks_leave_nothing(void **state)
{
    struct error err;

    (void)state;
    for (int ms = 5; ms < 100; ms += 10) {
        struct group *g = start(2);

        await_workers(g);
        poll(NULL, 0, ms);
        assert_int_equal(launcher_local.kill(g, &err), 0);
        finish(g);
    }
    shm_tidy();
    /* another program of this user may be in its own MPI_Init just now */
    for (int i = 0; i < 500 && shm_count() > 0; i++) {
        poll(NULL, 0, 10);
        shm_tidy();
    }
    assert_int_equal(shm_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree_on_everything),
        cmocka_unit_test(killed_ranks_leave_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
