/* Work on files in another thread: order, a full queue, and owners that leave early. */
#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "callback/deferred.h"
#include "event/attention.h"

#define NEVER    1e6 /* seconds */
#define FAIL     1000000
#define REMARK   1000001
#define MOST_LOG (3 * DEFERRED_MOST)

/* What the thread has seen. Read it only after deferred_finish() or a semaphore. */
static int worked[MOST_LOG], batches;
static size_t n_worked;
static bool last_batch;
static bool gated;       /* work waits at the gate */
static sem_t begun;      /* a batch is in work */
static sem_t gate;       /* the number of batches that may continue */
static sem_t state_gone; /* the state has been freed */
static int alive;        /* items that are not freed; atomic */
static struct deferred *d;

/* ---- The work ---- */

static int work(void *state, void *const *items, size_t n, bool last, struct error *err)
{
    bool waits = gated;
    int rc = 0;

    assert_string_equal(state, "state");
    sem_post(&begun);
    if (waits)
        sem_wait(&gate);
    batches++;
    last_batch = last;
    for (size_t i = 0; i < n; i++) {
        int value = *(const int *)items[i];

        worked[n_worked++] = value;
        if (value == FAIL)
            rc = error_set(err, RAYTRAIN_ESTORAGE, "no space");
        if (value == REMARK)
            rc = 1, error_set(err, RAYTRAIN_ESTORAGE, "it was slow");
    }
    return rc;
}

static void item_free(void *item)
{
    __atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
    free(item);
}

static void state_free(void *state)
{
    free(state);
    sem_post(&state_gone);
}

static const struct deferred_ops ops = {
    .work = work, .item_free = item_free, .state_free = state_free};

static void begin(double period_s)
{
    assert_int_equal(deferred_create(&ops, strdup("state"), period_s, &d, NULL), 0);
}

static bool post(int value)
{
    int *item = malloc(sizeof *item);

    *item = value;
    __atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST);
    return deferred_post(d, item);
}

/* From here on the thread is in the middle of its work, on this item. */
static void hold(int value)
{
    gated = true;
    assert_true(post(value));
    sem_wait(&begun);
}

static void let_go(void)
{
    gated = false;
    sem_post(&gate);
}

static void end(void)
{
    deferred_destroy(d);
    sem_wait(&state_gone);
    assert_int_equal(__atomic_load_n(&alive, __ATOMIC_SEQ_CST), 0);
}

static int setup(void **state)
{
    (void)state;
    alarm(60); /* a hang is a failure */
    n_worked = 0;
    batches = alive = 0;
    gated = last_batch = false;
    sem_init(&begun, 0, 0);
    sem_init(&gate, 0, 0);
    sem_init(&state_gone, 0, 0);
    return 0;
}

/* ---- Tests ---- */

static void items_are_worked_on_in_order(void **state)
{
    (void)state;
    begin(0);
    for (int i = 0; i < 1000; i++)
        assert_true(post(i));
    assert_true(deferred_finish(d, NEVER));
    assert_int_equal(n_worked, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(worked[i], i);
    assert_true(last_batch);
    end();
}

static void items_of_a_period_are_worked_on_together(void **state)
{
    (void)state;
    begin(NEVER);
    assert_true(post(1)); /* nothing was done before: it is at once */
    sem_wait(&begun);
    assert_true(post(2));
    assert_true(post(3));
    assert_true(deferred_finish(d, NEVER)); /* a period that ends early */
    assert_int_equal(n_worked, 3);
    assert_int_equal(batches, 2);
    end();
}

static void a_queue_that_is_half_full_does_not_wait_for_the_period(void **state)
{
    (void)state;
    begin(NEVER);
    assert_true(post(-1));
    sem_wait(&begun);
    for (int i = 0; i < DEFERRED_MOST / 2; i++)
        assert_true(post(i));
    sem_wait(&begun);
    end();
}

static void a_full_queue_refuses_items_until_there_is_room(void **state)
{
    (void)state;
    begin(0);
    hold(-1);
    for (int i = 0; i < DEFERRED_MOST; i++)
        assert_true(post(i));
    assert_false(post(DEFERRED_MOST));
    assert_false(post(DEFERRED_MOST + 1));
    assert_int_equal(__atomic_load_n(&alive, __ATOMIC_SEQ_CST), DEFERRED_MOST + 1);
    let_go();
    assert_true(deferred_finish(d, NEVER));
    assert_int_equal(n_worked, DEFERRED_MOST + 1);
    assert_int_equal(worked[DEFERRED_MOST], DEFERRED_MOST - 1);
    assert_true(post(7));
    assert_true(deferred_finish(d, NEVER));
    assert_int_equal(worked[n_worked - 1], 7);
    end();
}

static void an_item_without_memory_is_refused(void **state)
{
    (void)state;
    begin(0);
    assert_false(deferred_post(d, NULL));
    end();
}

static void its_owner_may_leave_while_items_wait(void **state)
{
    (void)state;
    begin(NEVER);
    assert_true(post(1));
    sem_wait(&begun);
    assert_true(post(2));
    assert_true(post(3));
    end();
    assert_int_equal(n_worked, 1);
}

static void its_owner_may_leave_while_the_thread_hangs(void **state)
{
    (void)state;
    begin(0);
    hold(1);
    assert_true(post(2));
    deferred_destroy(d); /* does not wait */
    assert_int_equal(sem_trywait(&state_gone), -1);
    let_go();
    sem_wait(&state_gone);
    assert_int_equal(__atomic_load_n(&alive, __ATOMIC_SEQ_CST), 0);
    assert_int_equal(n_worked, 1);
}

static void a_wait_for_the_end_has_a_limit(void **state)
{
    (void)state;
    begin(0);
    hold(1);
    assert_false(deferred_finish(d, 0.01));
    let_go();
    assert_true(deferred_finish(d, NEVER));
    end();
}

static void a_request_to_stop_ends_the_wait(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    begin(0);
    hold(1);
    attention_set(ends[0]);
    assert_false(deferred_finish(d, NEVER));
    attention_set(-1);
    let_go();
    assert_true(deferred_finish(d, NEVER));
    end();
    close(ends[0]);
    close(ends[1]);
}

static void after_a_failure_nothing_more_is_done(void **state)
{
    struct error what;
    bool failed;

    (void)state;
    begin(0);
    assert_false(deferred_says(d, &what, &failed));
    assert_true(post(FAIL));
    assert_true(deferred_finish(d, NEVER));
    assert_false(post(2));
    assert_true(deferred_finish(d, NEVER));
    assert_int_equal(n_worked, 1);
    assert_true(deferred_says(d, &what, &failed));
    assert_true(failed);
    assert_string_equal(what.text, "no space");
    assert_false(deferred_says(d, &what, &failed)); /* once */
    assert_true(failed);
    end();
}

static void items_that_wait_during_a_failure_are_dropped(void **state)
{
    (void)state;
    begin(0);
    hold(FAIL);
    assert_true(post(2));
    let_go();
    assert_true(deferred_finish(d, NEVER));
    assert_int_equal(n_worked, 1);
    end();
}

static void after_a_remark_the_work_goes_on(void **state)
{
    struct error what;
    bool failed;

    (void)state;
    begin(0);
    assert_true(post(REMARK));
    assert_true(deferred_finish(d, NEVER));
    assert_true(deferred_says(d, &what, &failed));
    assert_false(failed);
    assert_string_equal(what.text, "it was slow");
    assert_true(post(2));
    assert_true(deferred_finish(d, NEVER));
    assert_int_equal(worked[n_worked - 1], 2);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup(f, setup)
        TEST(items_are_worked_on_in_order),
        TEST(items_of_a_period_are_worked_on_together),
        TEST(a_queue_that_is_half_full_does_not_wait_for_the_period),
        TEST(a_full_queue_refuses_items_until_there_is_room),
        TEST(an_item_without_memory_is_refused),
        TEST(its_owner_may_leave_while_items_wait),
        TEST(its_owner_may_leave_while_the_thread_hangs),
        TEST(a_wait_for_the_end_has_a_limit),
        TEST(a_request_to_stop_ends_the_wait),
        TEST(after_a_failure_nothing_more_is_done),
        TEST(items_that_wait_during_a_failure_are_dropped),
        TEST(after_a_remark_the_work_goes_on),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
