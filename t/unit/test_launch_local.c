#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/launcher.h"
#include "protocol/worker_env.h"
#include "run/run_dir.h"
#include "util/argv.h"
#include "util/fs.h"

#define SH(script) ((char *[]){(char *)"/bin/sh", (char *)"-c", (char *)script, NULL})

static char scratch[] = "/tmp/raytrain-test-XXXXXX"; /* holds logs/ and tmp/ */
static char log_dir[64], tmp_dir[64];
static char client[4096];

static int scratch_make(void **state)
{
    const char *build = getenv("top_builddir");

    (void)state;
    if (!mkdtemp(scratch))
        return -1;
    snprintf(client, sizeof client, "%s/t/check/pmix_client", build ? build : ".");
    snprintf(log_dir, sizeof log_dir, "%s/logs", scratch);
    snprintf(tmp_dir, sizeof tmp_dir, "%s/tmp", scratch);
    /* become the parent of orphans, so that waiting for all children misses none */
    return prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || setenv("TMPDIR", tmp_dir, 1) < 0 ||
                   mkdir(tmp_dir, 0700) < 0
               ? -1
               : 0;
}

static int scratch_remove(void **state)
{
    (void)state;
    return fs_remove_tree(scratch, NULL);
}

static int logs_make(void **state)
{
    (void)state;
    alarm(60); /* a hang is a failure */
    return fs_remove_tree(log_dir, NULL) < 0 ? -1 : mkdir(log_dir, 0700);
}

/* Wait for all descendants: a process that stays makes this hang. */
static void await_all_children(void)
{
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
}

/* No process and no file is left. */
static int nothing_is_left(void **state)
{
    DIR *dir = opendir(tmp_dir);
    int left = 0;

    (void)state;
    await_all_children();
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            fprintf(stderr, "# %s is left\n", e->d_name);
            left++;
        }
    closedir(dir);
    return left ? -1 : 0;
}

static bool is_empty(const char *dir)
{
    DIR *d = opendir(dir);
    bool empty = true;

    for (struct dirent *e; d && (e = readdir(d));)
        empty = empty && e->d_name[0] == '.';
    if (d)
        closedir(d);
    return empty;
}

/* Until the workers run and have their logs, or cannot be started. */
static int await_workers(struct group *g, struct error *err)
{
    struct pollfd pfd = {.fd = launcher_local.fd(g), .events = POLLIN};
    struct launch_outcome outcome;
    bool done;

    while (is_empty(log_dir)) {
        assert_int_equal(poll(&pfd, 1, 60000), 1);
        if (launcher_local.advance(g, &done, &outcome, err) < 0)
            return -1;
    }
    return 0;
}

static struct group *start(int workers, char **argv, int gpus, struct error *err)
{
    struct placed_node node = {.name = (char *)"here", .tasks = workers};
    struct placement plan = {.workers = workers,
                             .nodes = &node,
                             .n_nodes = 1,
                             .cpus_per_worker = 1,
                             .gpus_per_worker = gpus};
    struct launch_spec spec = {
        .plan = &plan, .argv = argv, .log_dir = log_dir, .job_name = "test"};
    struct group *g;

    if (launcher_local.start(&spec, &g, err) < 0)
        return NULL;
    if (await_workers(g, err) == 0)
        return g;
    launcher_local.destroy(g);
    return NULL;
}

static struct launch_outcome finish(struct group *g)
{
    struct pollfd pfd = {.fd = launcher_local.fd(g), .events = POLLIN};
    struct launch_outcome outcome;
    struct error err;
    bool done = false;

    while (!done) {
        assert_int_equal(poll(&pfd, 1, 60000), 1);
        assert_int_equal(launcher_local.advance(g, &done, &outcome, &err), 0);
    }
    launcher_local.destroy(g);
    return outcome;
}

static struct launch_outcome run(int workers, char **argv)
{
    struct error err;
    struct group *g = start(workers, argv, 0, &err);

    if (!g)
        fail_msg("%s", err.text);
    return finish(g);
}

static char *log_text(const char *name)
{
    char path[256], *text;

    snprintf(path, sizeof path, "%s/%s", log_dir, name);
    assert_int_equal(fs_read(path, &text, NULL, NULL), 0);
    return text;
}

static void assert_log(const char *name, const char *expected)
{
    char *text = log_text(name);

    assert_string_equal(text, expected);
    free(text);
}

static void a_group_whose_workers_succeed_succeeds(void **state)
{
    mode_t before = umask(027);
    struct launch_outcome o = run(3, SH("echo out $PMIX_RANK; echo err >&2; cat"));
    struct stat st;
    char path[256];

    (void)state;
    umask(before);
    assert_false(o.failed);
    assert_false(o.stopped);
    assert_int_equal(o.failure.rank, -1);
    assert_log("rank-00000.out", "out 0\n");
    assert_log("rank-00002.out", "out 2\n");
    assert_log("rank-00001.err", "err\n");
    snprintf(path, sizeof path, "%s/rank-00001.err", log_dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640); /* as the umask leaves it */
}

static void workers_are_connected(void **state)
{
    struct launch_outcome o = run(4, (char *[]){client, (char *)"exchange", NULL});

    (void)state;
    assert_log("rank-00000.err", "");
    assert_false(o.failed);
}

static void groups_can_be_started_one_after_the_other(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_false(run(2, (char *[]){client, (char *)"exchange", NULL}).failed);
}

/* The others would sleep for a long time, and ignore SIGTERM. */
#define SLEEP "trap '' TERM; sleep 1000 & wait; sleep 1000"

static void first_failure_is_reported(void **state)
{
    static const struct {
        const char *script;
        int exit_status, signal;
    } table[] = {
        {"[ $PMIX_RANK = 1 ] && exit 3; " SLEEP, 3, 0},
        {"[ $PMIX_RANK = 1 ] && { ulimit -c 0; kill -SEGV $$; }; " SLEEP, 0, SIGSEGV},
        {"[ $PMIX_RANK = 1 ] && kill -KILL $$; " SLEEP, 0, SIGKILL},
        {"[ $PMIX_RANK = 1 ] && exit 255; [ $PMIX_RANK = 0 ] && exit 75; " SLEEP, 255,
         0},
    };
    char host[256] = "";

    (void)state;
    gethostname(host, sizeof host - 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct launch_outcome o = run(3, SH(table[i].script));

        assert_true(o.failed);
        assert_false(o.failure.never_started);
        assert_false(o.stopped);
        assert_int_equal(o.failure.rank, 1);
        assert_int_equal(o.failure.exit_status, table[i].exit_status);
        assert_int_equal(o.failure.signal, table[i].signal);
        assert_string_equal(o.failure.host, host);
    }
}

static void abort_carries_its_message(void **state)
{
    struct launch_outcome o =
        run(3, (char *[]){client, (char *)"abort", (char *)"2", NULL});

    (void)state;
    assert_true(o.failed);
    assert_int_equal(o.failure.rank, 2);
    assert_int_equal(o.failure.exit_status, 42);
    assert_int_equal(o.failure.signal, 0);
    assert_string_equal(o.failure.message, "out of luck");
}

static void a_death_in_a_fence_ends_the_group(void **state)
{
    struct launch_outcome o =
        run(3, (char *[]){client, (char *)"die", (char *)"1", NULL});

    (void)state;
    assert_true(o.failed);
    assert_int_equal(o.failure.rank, 1);
    assert_int_equal(o.failure.signal, SIGSEGV);
}

static void a_missing_program_is_reported(void **state)
{
    struct error err;

    (void)state;
    assert_null(start(2, (char *[]){(char *)"/no/such/program", NULL}, 0, &err));
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "/no/such/program"));
    assert_int_equal(fs_remove_tree(log_dir, NULL), 0);
    assert_null(start(2, SH("exit 0"), 0, &err));
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "rank-00000.out"));
    setenv("TMPDIR", "/no/such/dir", 1);
    assert_null(start(2, SH("exit 0"), 0, &err));
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_non_null(strstr(err.text, "TMPDIR"));
    setenv("TMPDIR", tmp_dir, 1);
}

/* Wait until each of n workers has written a line. */
static void await_lines(int n)
{
    const struct timespec tick = {0, 2000000};
    char name[32], *text;

    for (int i = 0; i < n; i++) {
        bool there = false;

        snprintf(name, sizeof name, "rank-%05d.out", i);
        while (!there) {
            text = log_text(name);
            there = strchr(text, '\n') != NULL;
            free(text);
            if (!there)
                nanosleep(&tick, NULL);
        }
    }
}

#ifdef RAYTRAIN_FAULTS
static bool a_child_is_stopped(void)
{
    siginfo_t info = {0};

    return waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* The keeper or the PMIx server, before the workers run: no call waits for it, and the
 * group can be killed. */
static void a_stopped_helper_is_given_up(void **state)
{
    static const char *const faults[] = {"keeper.hello:all:stop",
                                         "pmix.server:all:stop"};
    struct placed_node node = {.name = (char *)"here", .tasks = 2};
    struct placement plan = {.workers = 2, .nodes = &node, .n_nodes = 1};
    struct launch_spec spec = {
        .plan = &plan, .argv = SH("exit 0"), .log_dir = log_dir, .job_name = "test"};
    struct launch_outcome o;
    struct error err;
    struct group *g;
    bool done;

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        setenv("RAYTRAIN_FAULT", faults[i], 1);
        assert_int_equal(launcher_local.start(&spec, &g, &err), 0);
        while (!a_child_is_stopped()) {
            assert_int_equal(launcher_local.advance(g, &done, &o, &err), 0);
            assert_false(done);
        }
        assert_int_equal(launcher_local.kill(g, &err), 0);
        o = finish(g);
        assert_true(o.failed);
        assert_int_equal(o.failure.signal, SIGKILL);
        assert_int_equal(nothing_is_left(state), 0);
    }
    unsetenv("RAYTRAIN_FAULT");
}
#endif

static void a_stop_signal_reaches_all_workers(void **state)
{
    struct error err;
    struct launch_outcome o;
    struct group *g = start(
        2, SH("trap 'kill $!; exit 75' USR1; sleep 1000 & echo up; wait"), 0, &err);

    (void)state;
    assert_non_null(g);
    await_lines(2);
    assert_int_equal(launcher_local.signal(g, WORKER_STOP_SIGNAL, &err), 0);
    o = finish(g);
    assert_false(o.failed);
    assert_true(o.stopped);
}

/* The caller has to make sure that the workers handle the signal. */
static void stop_signal_without_a_handler(void **state)
{
    struct launch_outcome o =
        run(2, SH("[ $PMIX_RANK = 0 ] && kill -USR1 $$; sleep 1000"));

    (void)state;
    assert_true(o.failed);
    assert_int_equal(o.failure.signal, SIGUSR1);
}

static void kill_ends_all_workers(void **state)
{
    struct error err;
    struct launch_outcome o;
    struct group *g = start(3, SH("echo up; " SLEEP), 0, &err);

    (void)state;
    assert_non_null(g);
    await_lines(3);
    assert_int_equal(launcher_local.kill(g, &err), 0);
    assert_int_equal(launcher_local.kill(g, &err), 0);
    o = finish(g);
    assert_true(o.failed);
    assert_int_equal(o.failure.rank, -1);
    assert_int_equal(o.failure.signal, SIGKILL);
}

static void destroy_ends_all_workers(void **state)
{
    struct error err;
    struct group *g = start(3, SH("echo up; " SLEEP), 0, &err);

    (void)state;
    assert_non_null(g);
    await_lines(3);
    launcher_local.destroy(g);
    launcher_local.destroy(NULL);
}

/* The only entry of tmp/; "": there is none. */
static void private_dir_find(char *path, size_t size)
{
    DIR *dir = opendir(tmp_dir);

    path[0] = '\0';
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            snprintf(path, size, "%s/%s", tmp_dir, e->d_name);
    closedir(dir);
}

static void the_private_directory_is_private(void **state)
{
    struct error err;
    struct group *g = start(1, SH("echo up; " SLEEP), 0, &err);
    char path[512];
    struct stat st;

    (void)state;
    assert_non_null(g);
    private_dir_find(path, sizeof path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    launcher_local.destroy(g);
}

/* A child of parent with this name (as in /proc/PID/comm). */
static pid_t child_named_of(pid_t parent, const char *name)
{
    char path[64], comm[64];
    DIR *proc = opendir("/proc");
    pid_t found = 0;

    assert_non_null(proc);
    for (struct dirent *e; !found && (e = readdir(proc));) {
        int pid = atoi(e->d_name), ppid = 0;
        FILE *f;

        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        if (pid <= 0 || !(f = fopen(path, "re")))
            continue;
        if (fscanf(f, "%*d (%63[^)]) %*c %d", comm, &ppid) == 2 && ppid == parent &&
            strcmp(comm, name) == 0)
            found = pid;
        fclose(f);
    }
    closedir(proc);
    return found;
}

static pid_t child_named(const char *name)
{
    return child_named_of(getpid(), name);
}

static void a_group_without_its_keeper_ends(void **state)
{
    struct error err;
    struct group *g = start(2, SH("echo up; exit 4"), 0, &err);
    pid_t keeper = child_named("raytrain-keeper");

    (void)state;
    assert_non_null(g);
    assert_true(keeper > 0);
    assert_int_equal(kill(keeper, SIGKILL), 0);
    assert_int_equal(finish(g).failure.exit_status, 4);
}

static void a_group_without_its_server_ends(void **state)
{
    struct error err;
    struct group *g = start(2, SH("echo up; " SLEEP), 0, &err);
    pid_t server = child_named("raytrain-pmix");
    struct launch_outcome o;

    (void)state;
    assert_non_null(g);
    assert_true(server > 0);
    assert_int_equal(kill(server, SIGKILL), 0);
    o = finish(g);
    assert_true(o.failed);
    assert_int_equal(o.failure.rank, -1);
    assert_non_null(strstr(o.failure.message, "PMIx server"));
}

/* In a separate process: start a group, report that, stay alive. */
static void launcher_life(char **argv, int out)
{
    struct error err;
    struct group *g = start(3, argv, 0, &err);
    struct pollfd pfd = {.fd = g ? launcher_local.fd(g) : -1, .events = POLLIN};
    struct launch_outcome outcome;
    bool done;

    if (!g || write(out, "!", 1) != 1)
        _exit(1);
    for (;;)
        if (poll(&pfd, 1, -1) == 1)
            launcher_local.advance(g, &done, &outcome, &err);
}

static void a_killed_launcher_leaves_nothing(void **state)
{
    int fds[2];
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0)
        launcher_life(SH("trap '' TERM HUP INT; (sleep 1000) & (sleep 1000 & wait) &"
                         " echo up; sleep 1000"),
                      fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    await_lines(3);
    kill(pid, SIGKILL);
    close(fds[0]);
    close(fds[1]);
}

/* The keeper is killed at the same moment: the workers still end, and the next launcher
 * removes the directory. */
static void a_launcher_killed_with_its_keeper_leaves_nothing(void **state)
{
    char path[512];
    pid_t pid, keeper;
    int fds[2];
    char byte;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0)
        launcher_life(SH("echo up; exec sleep 1000"), fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    await_lines(3);
    keeper = child_named_of(pid, "raytrain-keeper");
    assert_true(keeper > 0);
    assert_int_equal(kill(pid, SIGSTOP) | kill(keeper, SIGKILL) | kill(pid, SIGKILL),
                     0);
    await_all_children();
    private_dir_find(path, sizeof path);
    assert_string_not_equal(path, "");
    assert_false(run(1, SH("exit 0")).failed);
    assert_int_equal(access(path, F_OK), -1);
    close(fds[0]);
    close(fds[1]);
}

/* At any moment: here after this number of microseconds of its life. */
static void a_launcher_killed_early_leaves_nothing(void **state)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)state;
    for (int i = 0; i < 40; i++) {
        const struct timespec life = {0, i * 1500000L};
        pid_t pid = fork();

        if (pid == 0)
            launcher_life(SH("sleep 1000 & sleep 1000"), null);
        nanosleep(&life, NULL);
        kill(pid, SIGKILL);
        assert_int_equal(nothing_is_left(state), 0);
    }
    close(null);
}

static void many_workers_share_a_log(void **state)
{
    const int n = RUN_DIR_RANK_LOGS_MAX + 4;
    struct launch_outcome o = run(n, SH("echo here"));
    char *text;

    (void)state;
    assert_false(o.failed);
    text = log_text("node-here.out");
    assert_int_equal(strlen(text), n * strlen("here\n"));
    free(text);
    assert_log("node-here.err", "");
}

static void gpus_are_distributed(void **state)
{
    struct error err;
    char *argv[] = {(char *)"/bin/sh", (char *)"-c",
                    (char *)"echo ${CUDA_VISIBLE_DEVICES-none} $OMP_NUM_THREADS", NULL};

    (void)state;
    unsetenv("OMP_NUM_THREADS");
    setenv("CUDA_VISIBLE_DEVICES", "3,5,GPU-8a,1", 1);
    assert_false(finish(start(2, argv, 2, &err)).failed);
    assert_log("rank-00000.out", "3,5 1\n");
    assert_log("rank-00001.out", "GPU-8a,1 1\n");
    logs_make(state);
    assert_null(start(3, argv, 2, &err));
    assert_int_equal(err.code, RAYTRAIN_EFIT);
    logs_make(state);
    setenv("OMP_NUM_THREADS", "7", 1);
    assert_false(finish(start(1, argv, 0, &err)).failed);
    assert_log("rank-00000.out", "3,5,GPU-8a,1 7\n");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("OMP_NUM_THREADS");
}

static void surrounding_group_is_hidden(void **state)
{
    (void)state;
    setenv("PMIX_RANK", "77", 1);
    setenv("PMIX_SERVER_URI2", "pmix-server.1;tcp4://127.0.0.1:1", 1);
    setenv("PMI_RANK", "77", 1);
    setenv("PMI_FD", "9", 1);
    assert_false(run(2, (char *[]){client, (char *)"exchange", NULL}).failed);
    logs_make(state);
    assert_false(run(1, SH("echo $PMIX_RANK ${PMI_RANK-none} ${PMI_FD-none}")).failed);
    assert_log("rank-00000.out", "0 none none\n");
    unsetenv("PMIX_RANK");
    unsetenv("PMIX_SERVER_URI2");
    unsetenv("PMI_RANK");
    unsetenv("PMI_FD");
}

static void a_dry_run_shows_the_command(void **state)
{
    char *argv[] = {(char *)"/usr/bin/worker", (char *)"x y", NULL};
    struct launch_spec spec = {.argv = argv};
    char **command;
    struct error err;

    (void)state;
    assert_int_equal(launcher_local.command(&spec, &command, &err), 0);
    assert_int_equal(argv_count(command), 2);
    assert_string_equal(command[1], "x y");
    argv_free(command);
}

#define GROUP_TEST(f) cmocka_unit_test_setup_teardown(f, logs_make, nothing_is_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_TEST(a_group_whose_workers_succeed_succeeds),
        GROUP_TEST(workers_are_connected),
        GROUP_TEST(groups_can_be_started_one_after_the_other),
        GROUP_TEST(first_failure_is_reported),
        GROUP_TEST(abort_carries_its_message),
        GROUP_TEST(a_death_in_a_fence_ends_the_group),
        GROUP_TEST(a_missing_program_is_reported),
#ifdef RAYTRAIN_FAULTS
        GROUP_TEST(a_stopped_helper_is_given_up),
#endif
        GROUP_TEST(a_stop_signal_reaches_all_workers),
        GROUP_TEST(stop_signal_without_a_handler),
        GROUP_TEST(kill_ends_all_workers),
        GROUP_TEST(destroy_ends_all_workers),
        GROUP_TEST(the_private_directory_is_private),
        GROUP_TEST(a_group_without_its_keeper_ends),
        GROUP_TEST(a_group_without_its_server_ends),
        GROUP_TEST(a_killed_launcher_leaves_nothing),
        GROUP_TEST(a_launcher_killed_with_its_keeper_leaves_nothing),
        GROUP_TEST(a_launcher_killed_early_leaves_nothing),
        GROUP_TEST(many_workers_share_a_log),
        GROUP_TEST(gpus_are_distributed),
        GROUP_TEST(surrounding_group_is_hidden),
        GROUP_TEST(a_dry_run_shows_the_command),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
