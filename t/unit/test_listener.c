/* A process that gets lines: it reads them, or is slow, dies, or never ends. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "callback/listener.h"
#include "config/train_config.h"
#include "event/attention.h"
#include "scratch.h"
#include "util/fs.h"

#define NEVER 1e6 /* seconds */

static struct train_config cfg;
static struct callback_list list;
static struct callback_context context = {.cfg = &cfg, .run_dir = ".", .list = &list};
static struct listener *l;
static char notes[4096]; /* each with a newline */
static int n_notes;

/* ---- Helpers ---- */

static int hear_create(struct callback *cb, const struct callback_context *c,
                       struct error *err)
{
    (void)cb;
    (void)c;
    (void)err;
    return 0;
}

static void hear_note(struct callback *cb, const char *text)
{
    size_t used = strlen(notes);

    (void)cb;
    snprintf(notes + used, sizeof notes - used, "%s\n", text);
    n_notes++;
}

static const struct callback_ops hear = {.create = hear_create, .on_note = hear_note};

static int setup(void **state)
{
    alarm(60); /* a hang is a failure */
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* to see the end of grandchildren */
    notes[0] = '\0';
    n_notes = 0;
    l = NULL;
    assert_int_equal(scratch_enter(state), 0);
    assert_int_equal(event_loop_create(&context.loop, NULL), 0);
    return callback_list_add(&list, &hear, &context, NULL);
}

static int teardown(void **state)
{
    listener_destroy(l);
    callback_list_destroy(&list);
    event_loop_destroy(context.loop);
    while (waitpid(-1, NULL, 0) > 0)
        continue; /* those that it has killed */
    return scratch_leave(state);
}

/* A program of these lines of shell. */
static void begin(const char *script)
{
    static char *argv[] = {(char *)"/bin/sh", (char *)"-c", NULL, NULL};
    struct error err;

    argv[2] = (char *)(uintptr_t)script;
    if (listener_start(argv, "the program", "name", &context, &l, &err) < 0)
        fail_msg("%s", err.text);
}

static char *text_of(const char *path)
{
    static char *text;
    size_t n;

    free(text);
    text = NULL;
    assert_int_equal(fs_read(path, &text, &n, NULL), 0);
    return text;
}

/* Turn the event loop until there is such a file. */
static void turn_until(const char *path)
{
    while (access(path, F_OK) < 0)
        assert_int_equal(event_loop_turn(context.loop, 0.1, NULL), 0);
}

static void turn_until_note(void)
{
    while (n_notes == 0)
        assert_int_equal(event_loop_turn(context.loop, 0.1, NULL), 0);
}

/* A number that a process writes to a FIFO, when it gets there. */
static long number_from(const char *fifo)
{
    char text[32] = "";
    int fd = open(fifo, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtol(text, NULL, 10);
}

/* Let a process continue that reads a line from the FIFO `gate`. */
static void gate_open(void)
{
    int fd = open("gate", O_WRONLY | O_CLOEXEC);

    assert_int_equal(write(fd, "go\n", 3), 3);
    close(fd);
}

/* ---- Tests ---- */

static void lines_arrive_in_order_and_then_the_end(void **state)
{
    (void)state;
    begin("exec cat >out");
    listener_send(l, "a", false);
    listener_send(l, "b", true);
    listener_send(l, "c", false);
    listener_finish(l, "last", NEVER);
    assert_string_equal(text_of("out"), "a\nb\nc\nlast\n");
    assert_string_equal(notes, "");
}

static void a_line_that_may_wait_is_written_by_the_timer(void **state)
{
    (void)state;
    begin("read line && echo \"$line\" >part && mv part out");
    listener_send(l, "a", false);
    turn_until("out");
    assert_string_equal(text_of("out"), "a\n");
}

static void its_output_is_in_a_file_of_its_name(void **state)
{
    static char *argv[] = {(char *)"/bin/sh", (char *)"-c",
                           (char *)"echo out; echo err >&2", NULL};

    (void)state;
    assert_int_equal(listener_start(argv, "x", "a b/../c-1.py", &context, &l, NULL), 0);
    listener_finish(l, NULL, NEVER);
    assert_string_equal(text_of("logs/callback-a_b_.._c-1.py.log"), "out\nerr\n");
}

static void a_process_that_dies_is_reported_once_with_its_last_line(void **state)
{
    (void)state;
    begin("echo first; read line; echo 'no network' >&2; echo; exit 7");
    listener_send(l, "a", true);
    turn_until_note();
    assert_non_null(strstr(notes, "the program has ended with status 7, and gets no "
                                  "more events: no network\n"));
    assert_non_null(strstr(notes, "logs/callback-name.log"));
    listener_send(l, "b", true);
    listener_finish(l, "c", NEVER);
    assert_int_equal(n_notes, 1);
}

static void the_last_line_is_not_that_of_an_earlier_process(void **state)
{
    (void)state;
    begin("echo earlier");
    listener_finish(l, NULL, NEVER);
    listener_destroy(l);
    begin("kill -KILL $$");
    turn_until_note();
    assert_non_null(strstr(notes, "was killed by signal 9"));
    assert_non_null(strstr(notes, "it has printed nothing"));
}

static void a_process_that_closes_its_input_gets_no_more(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("gate", 0600), 0);
    begin("exec <&-; : >closed; read go <gate");
    turn_until("closed");
    listener_send(l, "a", true);
    listener_send(l, "b", true);
    assert_string_equal(notes, ""); /* it may have read enough */
    gate_open();
    listener_finish(l, "c", NEVER);
    assert_string_equal(notes, "");
}

static void an_end_with_an_error_is_reported_also_after_the_run(void **state)
{
    (void)state;
    begin("cat >/dev/null; echo 'disk full'; exit 3");
    listener_finish(l, "last", NEVER);
    assert_non_null(strstr(notes, "has ended with status 3: disk full"));
    assert_int_equal(n_notes, 1);
}

/* All in `out` as they came: how many lines were sent, and how many lost. */
static void count(int *got, int *lost)
{
    char *text = text_of("out"), *end;

    *got = *lost = 0;
    for (char *line = text; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        *got += line[0] == 'x';
        if (strncmp(line, "{\"event\":\"lost\",\"lines\":", 24) == 0)
            *lost += atoi(line + 24);
        if (!end[1])
            assert_string_equal(line, "last");
    }
}

static void a_process_that_does_not_read_loses_lines_and_gets_their_number(void **state)
{
    static char line[60001];
    int got, lost, sent = 200;

    (void)state;
    memset(line, 'x', sizeof line - 1);
    assert_int_equal(mkfifo("gate", 0600), 0);
    begin("read go <gate; exec cat >out");
    for (int i = 0; i < sent; i++)
        listener_send(l, line, i % 2 == 0);
    assert_int_equal(n_notes, 1);
    assert_non_null(strstr(notes, "the program does not read its events in time"));
    gate_open();
    turn_until("out");
    for (; !strstr(text_of("out"), "lost"); sent++) {
        assert_int_equal(event_loop_turn(context.loop, 0.1, NULL), 0);
        listener_send(l, "x", true);
    }
    listener_finish(l, "last", NEVER);
    count(&got, &lost);
    assert_true(lost > 0);
    assert_int_equal(got + lost, sent);
    assert_int_equal(n_notes, 1);
}

static void a_process_that_does_not_end_is_asked_first(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("ready", 0600), 0);
    begin("trap 'echo bye; exit' TERM; echo $$ >ready; while :; do sleep 1000 & wait; "
          "done");
    number_from("ready");
    listener_finish(l, "last", 0);
    assert_non_null(strstr(notes, "has not ended within 0 s after the run"));
    assert_string_equal(text_of("logs/callback-name.log"), "bye\n");
    assert_int_equal(n_notes, 1);
}

/* Two of them: one in its process group that ignores SIGTERM, and the program
 * itself. */
static void what_it_has_started_is_killed_with_it(void **state)
{
    pid_t child;
    int status;

    (void)state;
    assert_int_equal(mkfifo("ready", 0600), 0);
    begin("trap '' TERM; sleep 1000 & echo $! >ready; wait");
    child = (pid_t)number_from("ready");
    listener_finish(l, "last", 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void what_it_leaves_behind_is_killed_when_it_ends(void **state)
{
    pid_t child;
    int status;

    (void)state;
    assert_int_equal(mkfifo("ready", 0600), 0);
    begin("sleep 1000 & echo $! >ready");
    child = (pid_t)number_from("ready");
    listener_finish(l, NULL, NEVER);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_string_equal(notes, "");
}

static void a_request_to_stop_ends_the_wait_for_it(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    begin("trap '' TERM; while :; do sleep 1000; done");
    attention_set(ends[0]);
    listener_finish(l, "last", NEVER);
    attention_set(-1);
    close(ends[0]);
    close(ends[1]);
}

static void its_owner_may_leave_without_a_word(void **state)
{
    (void)state;
    begin("exec cat >out");
    listener_send(l, "a", false);
    listener_destroy(l);
    l = NULL;
    assert_string_equal(text_of("out"), "a\n");
    assert_string_equal(notes, "");
}

static void a_program_that_cannot_be_started_leaves_nothing_behind(void **state)
{
    static char *argv[] = {(char *)"./missing", NULL};
    int before = scratch_count("/proc/self/fd");
    struct error err;

    (void)state;
    assert_int_equal(listener_start(argv, "x", "name", &context, &l, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "./missing"));
    assert_int_equal(scratch_count("/proc/self/fd"), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(lines_arrive_in_order_and_then_the_end),
        TEST(a_line_that_may_wait_is_written_by_the_timer),
        TEST(its_output_is_in_a_file_of_its_name),
        TEST(a_process_that_dies_is_reported_once_with_its_last_line),
        TEST(the_last_line_is_not_that_of_an_earlier_process),
        TEST(a_process_that_closes_its_input_gets_no_more),
        TEST(an_end_with_an_error_is_reported_also_after_the_run),
        TEST(a_process_that_does_not_read_loses_lines_and_gets_their_number),
        TEST(a_process_that_does_not_end_is_asked_first),
        TEST(what_it_has_started_is_killed_with_it),
        TEST(what_it_leaves_behind_is_killed_when_it_ends),
        TEST(a_request_to_stop_ends_the_wait_for_it),
        TEST(its_owner_may_leave_without_a_word),
        TEST(a_program_that_cannot_be_started_leaves_nothing_behind),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
