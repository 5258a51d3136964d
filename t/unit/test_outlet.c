#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/outlet.h"

#define A_LINE "a line of some length, as of a report\n"

static int ends[2]; /* a pipe, and an outlet into it */
static struct outlet *outlet;

static int setup_pipe(void **state)
{
    (void)state;
    alarm(60); /* a hang is a failure */
    return pipe2(ends, O_CLOEXEC);
}

static int setup(void **state)
{
    return setup_pipe(state) < 0 ? -1 : outlet_create(ends[1], &outlet, NULL);
}

static int teardown(void **state)
{
    (void)state;
    outlet_destroy(outlet);
    return 0; /* its thread may still be about to close it: the pipe stays open */
}

static void pipe_fill(void)
{
    static const char page[4096];

    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], page, sizeof page) > 0)
        continue;
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
}

/* All text until the outlet has nothing more to write; bytes of value 0 come from
 * pipe_fill(). */
static char *read_all(void)
{
    static char text[4 * OUTLET_KEEPS_BYTES];
    size_t used = 0;
    char block[4096];

    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    for (bool written = false, drained = false; !drained;) {
        ssize_t n = read(ends[0], block, sizeof block);

        drained = n < 0 && written;
        for (ssize_t i = 0; i < n; i++)
            if (block[i] && used < sizeof text - 1)
                text[used++] = block[i];
        if (n < 0)
            written = outlet_flush(outlet, 0.01);
    }
    text[used] = '\0';
    return text;
}

static void text_is_there_when_the_call_returns(void **state)
{
    char text[64] = "";

    (void)state;
    for (int i = 0; i < 3; i++) {
        outlet_print(outlet, "%s %d\n", "line", i);
        assert_int_equal(read(ends[0], text, sizeof text), 7);
        assert_int_equal(text[5], '0' + i);
    }
    outlet_print(NULL, "nowhere\n");
    assert_true(outlet_flush(NULL, 0));
}

static void what_precedes_the_next_text_is_printed_once(void **state)
{
    (void)state;
    outlet_precede(outlet, "<");
    assert_true(outlet_precedes(outlet));
    outlet_print(outlet, "a ");
    assert_false(outlet_precedes(outlet));
    outlet_print(outlet, "b ");
    outlet_precede(outlet, "<");
    outlet_precede(outlet, "");
    outlet_print(outlet, "c");
    assert_string_equal(read_all(), "<a b c");
    outlet_precede(NULL, "<");
    assert_false(outlet_precedes(NULL));
}

static void a_pipe_that_is_not_read_blocks_no_call(void **state)
{
    (void)state;
    pipe_fill();
    for (int i = 0; i < 10; i++)
        outlet_print(outlet, "line %d\n", i);
    assert_false(outlet_flush(outlet, 0.01));
    assert_string_equal(read_all(), "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n"
                                    "line 6\nline 7\nline 8\nline 9\n");
}

/* The thread has taken the first lines, and the last ones are kept. */
static void excess_text_is_dropped_except_for_the_latest(void **state)
{
    char *text, *note;

    (void)state;
    pipe_fill();
    outlet_print(outlet, "first\n");
    for (size_t n = 0; n < 5 * (OUTLET_KEEPS_BYTES / sizeof A_LINE); n++)
        outlet_print(outlet, A_LINE);
    outlet_print(outlet, "the end\n");
    text = read_all();
    assert_int_equal(strncmp(text, "first\n", 6), 0);
    note = strstr(text, "[raytrain: some output was dropped");
    assert_non_null(note);
    assert_null(strstr(note + 1, "[raytrain"));
    assert_string_equal(strstr(text, "the end"), "the end\n");
}

static void nothing_is_lost_on_a_descriptor_that_does_not_block(void **state)
{
    (void)state;
    pipe_fill();
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    outlet_print(outlet, "first\n");
    outlet_print(outlet, "second\n");
    assert_string_equal(read_all(), "first\nsecond\n");
}

/* In a process of its own, which a SIGPIPE would kill. */
static void a_pipe_without_a_reader_does_not_kill(void **state)
{
    pid_t pid;
    int status;

    (void)state;
    pid = fork();
    if (pid == 0) {
        struct outlet *o;

        signal(SIGPIPE, SIG_DFL);
        close(ends[0]);
        if (outlet_create(ends[1], &o, NULL) < 0)
            _exit(1);
        outlet_print(o, "first\n");
        outlet_print(o, "second\n");
        _exit(outlet_flush(o, 10) ? 0 : 2);
    }
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    /* First the one that forks, and without an outlet here: a child must not inherit locks
     * that another thread holds. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_pipe_without_a_reader_does_not_kill, setup_pipe),
        TEST(text_is_there_when_the_call_returns),
        TEST(what_precedes_the_next_text_is_printed_once),
        TEST(a_pipe_that_is_not_read_blocks_no_call),
        TEST(excess_text_is_dropped_except_for_the_latest),
        TEST(nothing_is_lost_on_a_descriptor_that_does_not_block),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
