/* Several attempts in one step of the Slurm launcher. A script stands in for srun, and this
 * program for the answers of its tasks. */
#include "config.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/launcher.h"
#include "protocol/events.h"
#include "protocol/worker_env.h"
#include "scratch.h"
#include "slurm/step_command.h"
#include "util/fs.h"

/* It writes its input into the file `lines`. With a file `dies`, a task of it ends at the
 * order to end; with `stuck`, none ends at the order to leave. */
static const char srun[] =
    "#!/bin/sh\n"
    "trap '' USR1\n"
    "echo $$ >pid\n"
    "echo 'srun: launching StepId=7.0 on host n1, 2 tasks: [0-1]' >&2\n"
    "echo 'srun: Node n1, 2 tasks started' >&2\n"
    "while read -r line; do\n"
    "    echo \"$line\" >>lines\n"
    "    case $line in\n"
    "    leave) test -e stuck || exit 0 ;;\n"
    "    end*) test ! -e dies || {\n"
    "        echo 'srun: error: n1: task 1: Exited with exit code 3' >&2\n"
    "        : >died\n"
    "    } ;;\n"
    "    esac\n"
    "done\n"
    "exec sleep 100\n";
static const char scancel[] = "#!/bin/sh\n"
                              ": >cancelled\n"
                              "kill -KILL $(cat pid)\n";

static struct group *group;
static struct launch_outcome outcome;
static bool done;

static void program_write(const char *name, const char *text)
{
    assert_int_equal(fs_write_atomic(name, text, strlen(text), 0755, NULL), 0);
}

static int enter(void **state)
{
    char path[200];

    if (scratch_enter(state) < 0)
        return -1;
    program_write("srun", srun);
    program_write("scancel", scancel);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", (char *)*state);
    return setenv("PATH", path, 1);
}

static bool exists(const char *name)
{
    return access(name, F_OK) == 0;
}

static void turn(void)
{
    struct pollfd p = {.fd = launcher_slurm.fd(group), .events = POLLIN};

    poll(&p, 1, 20);
    assert_int_equal(launcher_slurm.advance(group, &done, &outcome, NULL), 0);
}

static void end_await(void)
{
    for (int i = 0; i < 3000 && !done; i++)
        turn();
    assert_true(done);
}

/* srun has got these lines, and no others. */
static void lines_are(const char *expected)
{
    char *text = NULL;

    for (int i = 0; i < 3000; i++) {
        free(text);
        text = NULL;
        if (fs_read("lines", &text, NULL, NULL) == 0 && strcmp(text, expected) == 0)
            break;
        usleep(10000);
    }
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static struct launch_spec spec_of(int attempt)
{
    static char *worker[] = {(char *)"/w", NULL};
    static struct placed_node node = {.name = (char *)"n1", .tasks = 2};
    static const struct placement plan = {
        .workers = 2, .nodes = &node, .n_nodes = 1, .cpus_per_worker = 1};
    static const struct scaling_config scaling = {0};

    return (struct launch_spec){.plan = &plan,
                                .argv = worker,
                                .log_dir = "/l",
                                .job_name = "run",
                                .scaling = &scaling,
                                .keep = true,
                                .attempt = attempt};
}

static void start(void)
{
    const struct launch_spec spec = spec_of(0);

    done = false;
    assert_int_equal(launcher_slurm.start(&spec, &group, NULL), 0);
    while (!exists("pid"))
        turn();
}

static int again(int attempt)
{
    const struct launch_spec spec = spec_of(attempt);
    struct error err;

    done = false;
    return launcher_slurm.again(group, &spec, &err);
}

static void hear(json_t *event)
{
    assert_non_null(event);
    launcher_slurm.hear(group, event);
    json_decref(event);
}

static void worker_ends(int rank, const char *how, int number, bool oom)
{
    hear(json_pack("{s:s, s:i, s:s, s:i, s:b}", "kind", EVENT_TASK_FAILED, "rank", rank,
                   "host", "n1", how, number, "oom", oom));
}

static void attempt_is_over(void)
{
    hear(json_pack("{s:s}", "kind", EVENT_ATTEMPT_OVER));
    turn();
}

static void an_attempt_ends_and_the_next_begins(void **state)
{
    (void)state;
    start();
    worker_ends(1, "signal", SIGKILL, false);
    turn();
    assert_true(outcome.failed);
    assert_false(done);
    lines_are("end 0\n");
    attempt_is_over();
    assert_true(done && outcome.failed && outcome.stays);
    assert_int_equal(outcome.failure.rank, 1);
    assert_int_equal(outcome.failure.signal, SIGKILL);
    assert_int_equal(outcome.failure.cause, CAUSE_WORKER);
    assert_string_equal(outcome.failure.host, "n1");
    assert_int_equal(again(1), 0);
    turn();
    assert_false(done || outcome.failed || outcome.stays);
    lines_are("end 0\nbegin 1\n");
    worker_ends(0, "exit_status", 3, false);
    turn();
    attempt_is_over();
    assert_true(done && outcome.stays);
    assert_int_equal(outcome.failure.rank, 0);
    assert_int_equal(outcome.failure.exit_status, 3);
    launcher_slurm.destroy(group);
    lines_are("end 0\nbegin 1\nend 1\nleave\n");
    assert_false(exists("cancelled"));
}

/* From then on Slurm reports all tasks of the step as out of memory. */
static void a_step_that_was_out_of_memory_is_not_used_again(void **state)
{
    (void)state;
    start();
    worker_ends(1, "exit_status", 1, true);
    end_await();
    assert_true(exists("cancelled"));
    assert_false(exists("lines"));
    assert_false(outcome.stays);
    assert_int_equal(outcome.failure.rank, 1);
    assert_int_equal(outcome.failure.cause, CAUSE_OOM);
    launcher_slurm.destroy(group);
}

/* An answer to an order that was not given, and one of a rank that does not exist. */
static void other_events_are_ignored(void **state)
{
    (void)state;
    start();
    attempt_is_over();
    worker_ends(2, "exit_status", 1, false);
    hear(json_pack("{s:s, s:s}", "kind", EVENT_TASK_FAILED, "rank", "one"));
    hear(json_pack("{s:i}", "kind", 1));
    hear(json_object());
    turn();
    assert_false(done || outcome.failed);
    launcher_slurm.destroy(group);
    assert_false(exists("lines"));
}

static void a_worker_that_was_killed_explains_the_others(void **state)
{
    (void)state;
    start();
    worker_ends(0, "exit_status", 1, false);
    turn();
    worker_ends(1, "signal", SIGSEGV, false);
    attempt_is_over();
    assert_true(outcome.stays);
    assert_int_equal(outcome.failure.rank, 1);
    assert_int_equal(outcome.failure.signal, SIGSEGV);
    assert_int_equal(outcome.failure.exit_status, 0);
    launcher_slurm.destroy(group);
}

static void a_task_that_ends_takes_the_step_with_it(void **state)
{
    (void)state;
    start();
    program_write("dies", "");
    worker_ends(0, "exit_status", 1, false);
    while (!exists("died"))
        turn();
    turn();
    attempt_is_over();
    assert_false(outcome.stays);
    end_await();
    assert_true(exists("cancelled"));
    assert_true(outcome.failed);
    assert_false(outcome.stays);
    assert_int_equal(outcome.failure.rank, 0);
    launcher_slurm.destroy(group);
}

static void tasks_that_do_not_answer_are_killed(void **state)
{
    (void)state;
    start();
    worker_ends(0, "exit_status", 1, false);
    end_await();
    assert_true(exists("cancelled"));
    assert_true(outcome.failed);
    assert_false(outcome.stays);
    launcher_slurm.destroy(group);
}

static void tasks_that_do_not_leave_are_killed(void **state)
{
    (void)state;
    start();
    program_write("stuck", "");
    worker_ends(0, "exit_status", 1, false);
    turn();
    attempt_is_over();
    launcher_slurm.destroy(group);
    assert_true(exists("cancelled"));
}

static void workers_that_were_asked_to_stop_end_with_their_step(void **state)
{
    (void)state;
    start();
    assert_int_equal(launcher_slurm.signal(group, WORKER_STOP_SIGNAL, NULL), 0);
    worker_ends(0, "exit_status", 1, false);
    end_await();
    assert_true(exists("cancelled"));
    assert_false(exists("lines"));
    assert_false(outcome.stays);
    launcher_slurm.destroy(group);
}

static void a_step_that_has_ended_is_not_used_again(void **state)
{
    char *pid;

    (void)state;
    start();
    worker_ends(0, "exit_status", 1, false);
    turn();
    attempt_is_over();
    assert_true(outcome.stays);
    assert_int_equal(fs_read("pid", &pid, NULL, NULL), 0);
    kill(atoi(pid), SIGKILL);
    free(pid);
    while (again(1) == 0) { /* it is not known yet */
        worker_ends(0, "exit_status", 1, false);
        turn();
        attempt_is_over();
    }
    launcher_slurm.destroy(group);
}

static void a_step_has_a_hundred_attempts(void **state)
{
    int attempt = 0;

    (void)state;
    start();
    do {
        worker_ends(0, "exit_status", 1, false);
        assert_int_equal(launcher_slurm.advance(group, &done, &outcome, NULL), 0);
        hear(json_pack("{s:s}", "kind", EVENT_ATTEMPT_OVER));
        assert_int_equal(launcher_slurm.advance(group, &done, &outcome, NULL), 0);
        assert_true(done && outcome.stays);
    } while (again(++attempt) == 0);
    assert_int_equal(attempt, 100);
    launcher_slurm.destroy(group);
    assert_false(exists("cancelled"));
}

static void arguments_that_take_the_input_are_known(void **state)
{
    static const char *const taking[] = {"--input=none", "--inp x",  "-i none",
                                         "-inone",       "-v --pty", "--input"};
    static const char *const others[] = {
        "--immediate=3", "--overlap", "-I30", "--export=i", "'unbalanced", "--in", ""};

    (void)state;
    for (size_t i = 0; i < sizeof taking / sizeof *taking; i++)
        assert_true(slurm_step_takes_input(taking[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(slurm_step_takes_input(others[i]));
    assert_false(slurm_step_takes_input(NULL));
    assert_null(launcher_slurm.keep_obstacle("--overlap"));
    assert_non_null(launcher_slurm.keep_obstacle("--pty"));
}

#define STEP(f) cmocka_unit_test_setup_teardown(f, enter, scratch_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP(an_attempt_ends_and_the_next_begins),
        STEP(a_step_that_was_out_of_memory_is_not_used_again),
        STEP(other_events_are_ignored),
        STEP(a_worker_that_was_killed_explains_the_others),
        STEP(a_task_that_ends_takes_the_step_with_it),
        STEP(tasks_that_do_not_answer_are_killed),
        STEP(tasks_that_do_not_leave_are_killed),
        STEP(workers_that_were_asked_to_stop_end_with_their_step),
        STEP(a_step_that_has_ended_is_not_used_again),
        STEP(a_step_has_a_hundred_attempts),
        cmocka_unit_test(arguments_that_take_the_input_are_known),
    };

    setenv("SLURM_JOB_ID", "7", 1);
    alarm(120); /* a hang is a failure */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
