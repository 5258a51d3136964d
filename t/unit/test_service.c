/* A service: its queue, batches, workers that die, versions. The workers are the other
 * ends of socket pairs, and the clock is moved by the tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/service.h"

static struct error err;
static double clock_s;
static struct service *service;

static double test_clock(void)
{
    return clock_s;
}

/* ---- Workers: y is the sum of x, u is t ---- */

static struct service_column inputs[] = {
    {.name = "x", .row = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {2}}},
    {.name = "t", .kind = SERVICE_TEXT},
};
static struct service_column outputs[] = {
    {.name = "y", .row = {.dtype = RAYTRAIN_FLOAT32}},
    {.name = "u", .kind = SERVICE_TEXT},
};

struct worker {
    int fd;
    struct service_reader in; /* the batch that it has got */
};

static void turn(void)
{
    assert_int_equal(service_turn(service, 0, &err), 0);
}

static void message_send(int fd, enum service_kind kind, uint64_t id, uint64_t rows,
                         const void *payload, size_t n)
{
    struct service_writer out;

    service_writer_begin(&out, kind, id, rows, payload, n);
    assert_int_equal(service_write(&out, fd, &err), SERVICE_DONE);
    turn();
}

static void hello_send(int fd, int64_t version, size_t n_outputs)
{
    const struct service_hello hello = {.version = version,
                                        .pid = 1,
                                        .inputs = inputs,
                                        .n_inputs = 2,
                                        .outputs = outputs,
                                        .n_outputs = n_outputs};
    char *text;
    size_t n;

    assert_int_equal(service_hello_write(&hello, &text, &n, &err), 0);
    message_send(fd, SERVICE_HELLO, 0, 0, text, n);
    free(text);
}

static int connected(void)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    assert_int_equal(service_add_worker(service, fds[0], &err), 0);
    return fds[1];
}

static struct worker worker_start(int64_t version)
{
    struct worker w = {.fd = connected()};

    service_reader_init(&w.in, SERVICE_MAX);
    hello_send(w.fd, version, 2);
    return w;
}

static void worker_end(struct worker *w)
{
    service_reader_clear(&w->in);
    close(w->fd);
    turn();
}

/* The rows of the next batch; 0: there is none. */
static uint64_t batch_of(struct worker *w)
{
    int rc = service_read(&w->in, w->fd, &err);

    assert_int_not_equal(rc, -1);
    if (rc != SERVICE_DONE)
        return 0;
    assert_int_equal(w->in.header.kind, SERVICE_BATCH);
    return w->in.header.rows;
}

static bool is_closed(struct worker *w)
{
    return service_read(&w->in, w->fd, &err) == SERVICE_CLOSED;
}

static void answer(struct worker *w)
{
    uint64_t rows = w->in.header.rows, texts[2] = {0}, places[2], n;
    struct service_rows in[2];
    unsigned char *payload;

    assert_int_equal(
        service_find(inputs, 2, rows, w->in.payload, w->in.header.bytes, in, &err), 0);
    texts[1] = in[1].offsets[rows];
    assert_int_equal(service_layout(outputs, 2, rows, texts, places, &n, &err), 0);
    payload = calloc(1, n);
    for (uint64_t i = 0; i < rows; i++) {
        const float *x = (const float *)(const void *)in[0].data + 2 * i;

        ((float *)(void *)(payload + places[0]))[i] = x[0] + x[1];
    }
    memcpy(payload + places[1], in[1].offsets, (rows + 1) * 8);
    memcpy(payload + places[1] + (rows + 1) * 8, in[1].data, texts[1]);
    message_send(w->fd, SERVICE_RESULT, w->in.header.id, rows, payload, n);
    free(payload);
}

static void answer_next(struct worker *w, uint64_t rows)
{
    assert_int_equal(batch_of(w), rows);
    answer(w);
}

/* ---- Clients ---- */

#define ROWS_MAX 16

struct client {
    struct service_request q;
    struct service_rows in[2];
    float x[2 * ROWS_MAX];
    uint64_t offsets[ROWS_MAX + 1];
    char t[8 * ROWS_MAX];
    struct model_version *held;
    int answers;
};

static void got_answer(struct service_request *q)
{
    struct client *c = q->arg;

    c->answers++;
}

/* Row i is x = {first + i, 1} and t = "first+i" in decimal. */
static int send_rows(struct client *c, int first, int rows)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < rows; i++) {
        c->x[2 * i] = (float)(first + i);
        c->x[2 * i + 1] = 1;
        c->offsets[i + 1] =
            c->offsets[i] + (uint64_t)sprintf(c->t + c->offsets[i], "%d", first + i);
    }
    c->in[0].data = (const unsigned char *)c->x;
    c->in[1].data = (const unsigned char *)c->t;
    c->in[1].offsets = c->offsets;
    c->q = (struct service_request){
        .rows = (uint64_t)rows, .inputs = c->in, .done = got_answer, .arg = c};
    c->held = service_hold_current(service);
    assert_non_null(c->held);
    return service_submit(service, c->held, &c->q);
}

static void client_end(struct client *c)
{
    service_release(service, c->held);
    service_request_clear(&c->q);
}

static void check_answer(struct client *c)
{
    assert_int_equal(c->answers, 1);
    assert_int_equal(c->q.status, 200);
    for (uint64_t i = 0; i < c->q.rows; i++) {
        const struct service_rows *u = &c->q.outputs[1];
        float y;

        memcpy(&y, c->q.outputs[0].data + i * sizeof y, sizeof y);
        assert_true(y == c->x[2 * i] + 1);
        assert_int_equal(u->offsets[i + 1], c->offsets[i + 1]);
    }
    assert_memory_equal(c->q.outputs[1].data, c->t, c->offsets[c->q.rows]);
    client_end(c);
}

static void check_status(struct client *c, int status)
{
    assert_int_equal(c->answers, 1);
    assert_int_equal(c->q.status, status);
    assert_true(strlen(c->q.text) > 0);
    client_end(c);
}

/* ---- A service for each test ---- */

static const struct version_limits limits = {.batch = 4, .queue = 8, .answer_s = 30};

static void begin(const struct version_limits *l)
{
    const struct service_options o = {.name = "m", .limits = *l, .clock = test_clock};

    clock_s = 1000;
    assert_int_equal(service_create(&o, &service, &err), 0);
}

static int setup(void **state)
{
    (void)state;
    begin(&limits);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    service_stop(service);
    service_destroy(service);
    return 0;
}

/* ---- Batches ---- */

static void a_request_gets_the_predictions_of_its_rows(void **state)
{
    struct worker w = worker_start(7);
    struct client c;

    (void)state;
    assert_true(service_is_ready(service));
    assert_int_equal(send_rows(&c, 3, 2), 0);
    assert_false(service_is_idle(service));
    answer_next(&w, 2);
    assert_int_equal(c.held->model.version, 7);
    check_answer(&c);
    assert_true(service_is_idle(service));
    worker_end(&w);
}

static void requests_that_wait_become_one_batch(void **state)
{
    struct worker w = worker_start(1);
    struct client c[4];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(send_rows(&c[i], 10 * i, i ? 1 : 4), 0);
    assert_int_equal(batch_of(&w), 4);
    answer(&w);
    answer_next(&w, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(c[i].q.batch_rows, i ? 2 : 4);
        check_answer(&c[i]);
    }
    worker_end(&w);
}

static void a_second_batch_is_sent_ahead_if_it_is_full(void **state)
{
    struct worker w = worker_start(1);
    struct client c[4];

    (void)state;
    assert_int_equal(send_rows(&c[0], 0, 1), 0);
    assert_int_equal(send_rows(&c[1], 1, 3), 0);
    assert_int_equal(batch_of(&w), 1);
    assert_int_equal(send_rows(&c[2], 4, 1), 0); /* 3 and 1: full */
    assert_int_equal(send_rows(&c[3], 5, 4), 0); /* a third one waits */
    answer(&w);
    answer_next(&w, 4);
    answer_next(&w, 4);
    for (int i = 0; i < 4; i++)
        check_answer(&c[i]);
    worker_end(&w);
}

static void many_rows_are_cut_and_come_back_in_order(void **state)
{
    struct worker a = worker_start(1), b = worker_start(1);
    struct client c;

    (void)state;
    assert_int_equal(send_rows(&c, 95, 11), 0);
    assert_int_equal(batch_of(&a) + batch_of(&b), 8);
    answer(&a); /* whichever has the first rows */
    answer_next(&a, 3);
    assert_int_equal(c.answers, 0);
    answer(&b);
    check_answer(&c);
    worker_end(&a);
    worker_end(&b);
}

static void a_batch_waits_for_more_rows_until_its_time(void **state)
{
    const struct version_limits l = {
        .batch = 4, .queue = 8, .answer_s = 30, .wait_s = 0.5};
    struct worker w;
    struct client c[3];

    (void)state;
    begin(&l);
    w = worker_start(1);
    assert_int_equal(send_rows(&c[0], 0, 1), 0);
    clock_s += 0.4;
    turn();
    assert_int_equal(batch_of(&w), 0);
    assert_int_equal(send_rows(&c[1], 1, 1), 0);
    clock_s += 0.1;
    turn();
    answer_next(&w, 2);
    assert_int_equal(send_rows(&c[2], 1, 4), 0); /* full: at once */
    answer_next(&w, 4);
    for (int i = 0; i < 3; i++)
        check_answer(&c[i]);
    worker_end(&w);
    teardown(NULL);
}

/* ---- Limits ---- */

static void a_full_queue_refuses(void **state)
{
    struct worker w = worker_start(1);
    struct client c[10], more;

    (void)state;
    for (int i = 0; i < 10; i++) /* two batches are under way */
        assert_int_equal(send_rows(&c[i], i, i < 2 ? 4 : 1), 0);
    assert_int_equal(send_rows(&more, 0, 1), 429);
    assert_int_equal(more.answers, 0);
    client_end(&more);
    while (batch_of(&w))
        answer(&w);
    for (int i = 0; i < 10; i++)
        check_answer(&c[i]);
    worker_end(&w);
}

static void without_a_worker_there_is_no_service(void **state)
{
    struct worker w;
    struct client c;

    (void)state;
    assert_false(service_is_ready(service));
    assert_null(service_hold_current(service));
    w = worker_start(1);
    worker_end(&w);
    assert_false(service_is_ready(service));
    assert_int_equal(send_rows(&c, 0, 1), 503);
    client_end(&c);
}

static void a_request_does_not_wait_forever(void **state)
{
    struct worker w = worker_start(1);
    struct client c[2];

    (void)state;
    assert_int_equal(send_rows(&c[0], 0, 4), 0);
    assert_int_equal(send_rows(&c[1], 4, 1), 0);
    clock_s += 31;
    turn();
    check_status(&c[0], 503);
    check_status(&c[1], 503);
    answer_next(&w, 4); /* too late, and no harm */
    assert_int_equal(send_rows(&c[0], 0, 1), 0);
    answer_next(&w, 1);
    check_answer(&c[0]);
    worker_end(&w);
}

/* ---- Workers that die, refuse or lie ---- */

static void requests_of_a_dead_worker_go_to_another_each_alone(void **state)
{
    struct worker a = worker_start(1), b;
    struct client c[3];

    (void)state;
    assert_int_equal(send_rows(&c[0], 0, 4), 0);
    assert_int_equal(send_rows(&c[1], 1, 2), 0);
    assert_int_equal(send_rows(&c[2], 2, 2), 0); /* sent ahead with the one before */
    b = worker_start(1);
    assert_int_equal(batch_of(&b), 0);
    worker_end(&a);
    answer_next(&b, 4);
    answer_next(&b, 2);
    answer_next(&b, 2);
    for (int i = 0; i < 3; i++)
        check_answer(&c[i]);
    worker_end(&b);
}

static void
a_request_that_ends_two_workers_gets_503_and_others_their_answer(void **state)
{
    struct worker a = worker_start(1), b, d;
    struct client c[3];
    struct service_state look;

    (void)state;
    assert_int_equal(send_rows(&c[0], 0, 4), 0);
    assert_int_equal(send_rows(&c[1], 7, 1), 0);
    assert_int_equal(send_rows(&c[2], 8, 1), 0);
    answer_next(&a, 4);
    assert_int_equal(batch_of(&a), 2);
    worker_end(&a); /* by c[1] */
    assert_int_equal(c[1].answers + c[2].answers, 0);
    b = worker_start(1);
    assert_int_equal(batch_of(&b), 1);
    worker_end(&b);
    check_status(&c[1], 503);
    d = worker_start(1);
    answer_next(&d, 1);
    check_answer(&c[0]);
    check_answer(&c[2]);
    service_look(service, &look);
    assert_int_equal(look.counts.retries, 2);
    assert_int_equal(look.counts.workers_lost, 2);
    worker_end(&d);
}

static void refuse_batch(struct worker *w, raytrain_status status, const char *why)
{
    message_send(w->fd, SERVICE_FAILED, w->in.header.id, status, why, strlen(why));
}

static void of_refused_rows_only_the_bad_ones_fail(void **state)
{
    struct worker w = worker_start(1);
    struct client c[3];

    (void)state;
    assert_int_equal(send_rows(&c[0], 0, 4), 0);
    assert_int_equal(send_rows(&c[1], 1, 1), 0);
    assert_int_equal(send_rows(&c[2], 2, 1), 0);
    answer_next(&w, 4);
    assert_int_equal(batch_of(&w), 2);
    refuse_batch(&w, RAYTRAIN_EINVAL, "one is bad");
    assert_int_equal(batch_of(&w), 1);
    refuse_batch(&w, RAYTRAIN_EINVAL, "x is bad");
    assert_string_equal(c[1].q.text, "x is bad");
    check_status(&c[1], 400);
    answer_next(&w, 1);
    check_answer(&c[0]);
    check_answer(&c[2]);
    assert_int_equal(send_rows(&c[0], 0, 1), 0);
    assert_int_equal(batch_of(&w), 1);
    refuse_batch(&w, RAYTRAIN_EFAILED, "");
    assert_int_equal(c[0].q.status, 500);
    client_end(&c[0]);
    worker_end(&w);
}

static void a_worker_that_lies_is_dropped(void **state)
{
    static const unsigned char nothing[64];
    struct client c;

    (void)state;
    for (int how = 0; how < 4; how++) {
        struct worker w = worker_start(1), good;

        assert_int_equal(send_rows(&c, 0, 2), 0);
        assert_int_equal(batch_of(&w), 2);
        if (how == 0) /* another id */
            message_send(w.fd, SERVICE_RESULT, w.in.header.id + 1, 2, nothing, 64);
        else if (how == 1) /* other rows */
            message_send(w.fd, SERVICE_RESULT, w.in.header.id, 3, nothing, 64);
        else if (how == 2) /* too short */
            message_send(w.fd, SERVICE_RESULT, w.in.header.id, 2, nothing, 7);
        else /* another kind */
            message_send(w.fd, SERVICE_BATCH, w.in.header.id, 2, nothing, 64);
        assert_true(is_closed(&w));
        worker_end(&w);
        good = worker_start(1);
        answer_next(&good, 2);
        check_answer(&c);
        worker_end(&good);
    }
}

static void a_worker_must_say_hello_and_have_the_same_model(void **state)
{
    struct worker w = worker_start(1), bad = {.fd = connected()};

    (void)state;
    hello_send(bad.fd, 1, 1);
    assert_true(is_closed(&bad));
    worker_end(&bad);
    bad = (struct worker){.fd = connected()};
    message_send(bad.fd, SERVICE_RESULT, 0, 0, NULL, 0);
    assert_true(is_closed(&bad));
    worker_end(&bad);
    bad = (struct worker){.fd = connected()};
    clock_s += 61;
    turn();
    assert_true(is_closed(&bad));
    worker_end(&bad);
    assert_int_equal(service_workers(service, 1), 1);
    worker_end(&w);
}

/* ---- Versions, and the end ---- */

static void a_switch_fails_no_request(void **state)
{
    struct worker old = worker_start(1), new;
    struct client c[3];
    struct model_version *held;

    (void)state;
    assert_int_equal(service_switch(service, 2, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(send_rows(&c[0], 0, 1), 0);
    assert_int_equal(send_rows(&c[1], 1, 1), 0);
    new = worker_start(2);
    assert_int_equal(service_workers(service, 2), 1);
    assert_int_equal(batch_of(&new), 0);
    held = service_hold_current(service);
    assert_int_equal(service_switch(service, 2, &err), 0);
    assert_int_equal(send_rows(&c[2], 2, 1), 0);
    answer_next(&new, 1);
    answer_next(&old, 1);
    answer_next(&old, 1);
    assert_int_equal(c[1].held->model.version, 1);
    assert_int_equal(c[2].held->model.version, 2);
    for (int i = 0; i < 3; i++)
        check_answer(&c[i]);
    turn();
    assert_false(is_closed(&old)); /* it is held */
    service_release(service, held);
    turn();
    assert_true(is_closed(&old));
    assert_null(service_hold_version(service, 1));
    worker_end(&old);
    worker_end(&new);
}

static void a_version_that_was_replaced_and_ends_says_so(void **state)
{
    struct worker old = worker_start(1), new = worker_start(2);
    struct client c[2];

    (void)state;
    assert_int_equal(send_rows(&c[0], 0, 1), 0);
    assert_int_equal(send_rows(&c[1], 1, 1), 0);
    assert_int_equal(service_switch(service, 2, &err), 0);
    worker_end(&old);
    for (int i = 0; i < 2; i++) {
        assert_true(c[i].q.version_ended);
        check_status(&c[i], 503);
    }
    assert_int_equal(send_rows(&c[0], 0, 1), 0);
    worker_end(&new);
    assert_int_equal(c[0].answers, 0); /* the current one gets other workers */
    service_stop(service);
    assert_false(c[0].q.version_ended);
    check_status(&c[0], 503);
}

static void a_service_that_drains_answers_what_it_has_accepted(void **state)
{
    struct worker w = worker_start(1);
    struct client c[2];

    (void)state;
    assert_int_equal(send_rows(&c[0], 0, 1), 0);
    service_drain(service);
    assert_false(service_is_ready(service));
    assert_int_equal(send_rows(&c[1], 0, 1), 503);
    client_end(&c[1]);
    assert_false(service_is_idle(service));
    answer_next(&w, 1);
    check_answer(&c[0]);
    assert_true(service_is_idle(service));
    worker_end(&w);
}

static void requests_that_are_left_at_the_end_get_503(void **state)
{
    struct worker w = worker_start(1);
    struct client c[2];

    (void)state;
    assert_int_equal(send_rows(&c[0], 0, 4), 0);
    assert_int_equal(send_rows(&c[1], 0, 1), 0);
    service_stop(service);
    check_status(&c[0], 503);
    check_status(&c[1], 503);
    service_reader_clear(&w.in);
    close(w.fd);
}

static void answers_are_counted(void **state)
{
    struct worker w = worker_start(1);
    struct service_state look;
    struct client c;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send_rows(&c, 0, 3), 0);
        clock_s += i < 2 ? 0.003 : 0.2;
        answer_next(&w, 3);
        check_answer(&c);
    }
    service_look(service, &look);
    assert_int_equal(look.counts.answers[COUNT_OK], 3);
    assert_int_equal(look.counts.rows, 9);
    assert_int_equal(look.counts.batches[2], 3); /* up to 4 rows */
    assert_true(service_counts_quantile(&look.counts, 0.5) == 0.005);
    assert_true(service_counts_quantile(&look.counts, 0.99) == 0.25);
    assert_int_equal(look.n_versions, 1);
    assert_int_equal(look.workers, 1);
    worker_end(&w);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_request_gets_the_predictions_of_its_rows),
        TEST(requests_that_wait_become_one_batch),
        TEST(a_second_batch_is_sent_ahead_if_it_is_full),
        TEST(many_rows_are_cut_and_come_back_in_order),
        cmocka_unit_test(a_batch_waits_for_more_rows_until_its_time),
        TEST(a_full_queue_refuses),
        TEST(without_a_worker_there_is_no_service),
        TEST(a_request_does_not_wait_forever),
        TEST(requests_of_a_dead_worker_go_to_another_each_alone),
        TEST(a_request_that_ends_two_workers_gets_503_and_others_their_answer),
        TEST(of_refused_rows_only_the_bad_ones_fail),
        TEST(a_worker_that_lies_is_dropped),
        TEST(a_worker_must_say_hello_and_have_the_same_model),
        TEST(a_switch_fails_no_request),
        TEST(a_version_that_was_replaced_and_ends_says_so),
        TEST(a_service_that_drains_answers_what_it_has_accepted),
        TEST(requests_that_are_left_at_the_end_get_503),
        TEST(answers_are_counted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
