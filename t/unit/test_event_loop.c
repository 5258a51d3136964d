/* The event loop: order, timers, and sources that come and go while handlers run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/event_loop.h"

static struct event_loop *loop;
static char calls[64];

/* A pipe with a byte in it, and what its handler does besides taking note. */
struct pipe_source {
    char name;
    int fd[2];
    int removes; /* a descriptor; -1: none */
    bool keeps;  /* the byte, so that it stays readable */
    struct pipe_source *adds;
    int fails;
};

static int called(void *arg, struct error *err);

static void pipe_open(struct pipe_source *s, char name)
{
    *s = (struct pipe_source){.name = name, .removes = -1};
    assert_int_equal(pipe(s->fd), 0);
    assert_int_equal(write(s->fd[1], "x", 1), 1);
}

static void pipe_add(struct pipe_source *s)
{
    assert_int_equal(event_loop_add(loop, s->fd[0], called, s, NULL), 0);
}

static int called(void *arg, struct error *err)
{
    struct pipe_source *s = arg;
    char c;

    strncat(calls, &s->name, 1);
    if (!s->keeps)
        assert_int_equal(read(s->fd[0], &c, 1), 1);
    if (s->removes >= 0)
        event_loop_remove(loop, s->removes);
    if (s->adds)
        pipe_add(s->adds);
    s->adds = NULL;
    return s->fails ? error_set(err, RAYTRAIN_EFAILED, "as planned") : 0;
}

static void pipe_close(struct pipe_source *s)
{
    close(s->fd[0]);
    close(s->fd[1]);
}

static int setup(void **state)
{
    (void)state;
    calls[0] = '\0';
    return event_loop_create(&loop, NULL);
}

static int teardown(void **state)
{
    (void)state;
    event_loop_destroy(loop);
    return 0;
}

static void handlers_run_in_the_order_of_adding(void **state)
{
    struct pipe_source s[12];

    (void)state;
    for (int i = 0; i < 12; i++) {
        pipe_open(&s[i], (char)('a' + i));
        pipe_add(&s[i]);
    }
    assert_int_equal(event_loop_turn(loop, -1, NULL), 0);
    assert_string_equal(calls, "abcdefghijkl");
    assert_int_equal(event_loop_turn(loop, 0, NULL), 0);
    assert_string_equal(calls, "abcdefghijkl");
    for (int i = 0; i < 12; i++)
        pipe_close(&s[i]);
}

static void a_handler_that_was_removed_is_not_called(void **state)
{
    struct pipe_source a, b, c;

    (void)state;
    pipe_open(&a, 'a');
    pipe_open(&b, 'b');
    pipe_open(&c, 'c');
    a.removes = b.fd[0];
    a.keeps = true;
    c.removes = a.fd[0];
    pipe_add(&a);
    pipe_add(&b);
    pipe_add(&c);
    assert_int_equal(event_loop_turn(loop, -1, NULL), 0);
    assert_string_equal(calls, "ac");
    assert_int_equal(event_loop_turn(loop, 0, NULL), 0);
    assert_string_equal(calls, "ac");
    pipe_close(&a);
    pipe_close(&b);
    pipe_close(&c);
}

static void a_handler_may_add_others(void **state)
{
    struct pipe_source a, others[20];

    (void)state;
    pipe_open(&a, 'a');
    for (int i = 0; i < 20; i++) {
        pipe_open(&others[i], (char)('b' + i));
        others[i].adds = i < 19 ? &others[i + 1] : NULL;
    }
    a.adds = &others[0];
    pipe_add(&a);
    for (int i = 0; i < 21; i++)
        assert_int_equal(event_loop_turn(loop, 0, NULL), 0);
    assert_string_equal(calls, "abcdefghijklmnopqrstu");
    pipe_close(&a);
    for (int i = 0; i < 20; i++)
        pipe_close(&others[i]);
}

static void a_handler_that_fails_ends_the_turn(void **state)
{
    struct pipe_source a, b;
    struct error err;

    (void)state;
    pipe_open(&a, 'a');
    pipe_open(&b, 'b');
    a.fails = 1;
    pipe_add(&a);
    pipe_add(&b);
    assert_int_equal(event_loop_turn(loop, -1, &err), -1);
    assert_string_equal(err.text, "as planned");
    assert_string_equal(calls, "a");
    assert_int_equal(event_loop_turn(loop, -1, &err), 0);
    assert_string_equal(calls, "ab");
    pipe_close(&a);
    pipe_close(&b);
}

static int ticks;

static int tick(void *arg, struct error *err)
{
    (void)err;
    ticks++;
    if (ticks == 3)
        event_loop_remove(loop, *(int *)arg);
    return 0;
}

static void a_timer_runs_until_it_is_removed(void **state)
{
    int timer;

    (void)state;
    ticks = 0;
    assert_int_equal(event_loop_every(loop, 0.001, tick, &timer, &timer, NULL), 0);
    while (ticks < 3)
        assert_int_equal(event_loop_turn(loop, -1, NULL), 0);
    assert_int_equal(event_loop_turn(loop, 0.005, NULL), 0);
    assert_int_equal(ticks, 3);
}

static void a_turn_ends_with_its_time(void **state)
{
    (void)state;
    assert_int_equal(event_loop_turn(loop, 0.001, NULL), 0);
    event_loop_remove(loop, -1);
    event_loop_remove(loop, 12345);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(handlers_run_in_the_order_of_adding),
        TEST(a_handler_that_was_removed_is_not_called),
        TEST(a_handler_may_add_others),
        TEST(a_handler_that_fails_ends_the_turn),
        TEST(a_timer_runs_until_it_is_removed),
        TEST(a_turn_ends_with_its_time),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
