/* A worker of a service: a thread runs a predict function, and the test is the
 * service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/train_config.h"
#include "serve/service_predictor.h"

#include "preprocess_table.h"
#include "scratch.h"

#define MAX_COLUMNS 3

typedef int (*predict_func)(raytrain_predictor *p, struct error *e);

/* What the worker is, and how it went. */
struct worker {
    struct train_config config;
    const struct chain *chain;
    const struct frame *like; /* NULL: the inputs are those of the configuration */
    const char *label;
    predict_func predict;
    int sign_ms;

    atomic_int stop, signs;
    atomic_bool is_stopped, is_busy;
    pthread_t thread;
    int created, predicted, finished; /* what these have returned */
    struct error error;
};

/* The service's side. */
struct front {
    struct worker worker;
    int listener, line;
    struct service_reader reader;
    struct service_hello hello;
    uint64_t places[MAX_COLUMNS];
};

/* ---- The worker ---- */

static bool worker_stops(void *arg)
{
    return atomic_load(&((struct worker *)arg)->stop) != 0;
}

static bool worker_lives(void *arg)
{
    return !atomic_load(&((struct worker *)arg)->is_stopped);
}

static void worker_goes_on(void *arg)
{
    atomic_fetch_add(&((struct worker *)arg)->signs, 1);
}

static int inputs_make(struct worker *w, struct serve_inputs *inputs)
{
    if (w->like)
        return serve_inputs_like(w->like, w->label, w->chain, inputs, &w->error);
    return serve_inputs_configured(&w->config.predict.inputs, w->chain, inputs,
                                   &w->error);
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    const struct service_predictor_env env = {.config = &w->config.predict,
                                              .chain = w->chain,
                                              .checkpoint = "/runs/a/checkpoint_7.h5",
                                              .iteration = 7,
                                              .stops = worker_stops,
                                              .lives = worker_lives,
                                              .goes_on = worker_goes_on,
                                              .sign_ms = w->sign_ms,
                                              .arg = w};
    struct serve_inputs inputs;
    raytrain_predictor *p;

    w->created = w->predicted = w->finished = -1;
    if (inputs_make(w, &inputs) < 0)
        return NULL;
    w->created = service_predictor_create(&env, &inputs, &p, &w->error);
    if (w->created < 0)
        return NULL;
    w->predicted = w->predict(p, &w->error);
    if (w->predicted == 0)
        w->finished = predictor_finish(p, &w->error);
    predictor_destroy(p);
    return NULL;
}

/* ---- Predict functions ---- */

/* y of x, two numbers a row: 2 * x[0] + x[1]; of a row with a negative one, nothing. */
static int predict_y(raytrain_predictor *p, struct error *e)
{
    uint64_t rows;
    int rc;

    if (predictor_output(p, "y", RAYTRAIN_FLOAT32, 0, NULL, e) < 0 ||
        predictor_set_batch_size(p, 32, e) < 0)
        return -1;
    while ((rc = predictor_next(p, &rows, e)) == 0) {
        float y[2048];
        raytrain_tensor x;
        bool negative = false;

        if (dataset_column(predictor_dataset(p), "x", &x, e) < 0 || rows > 2048)
            return -1;
        for (uint64_t i = 0; i < rows; i++) {
            const float *at = (const float *)x.data + 2 * i;

            negative = negative || at[0] < 0;
            y[i] = 2 * at[0] + at[1];
        }
        if (!negative && predictor_put(p, "y", y, e) < 0)
            return -1;
    }
    return rc > 0 ? 0 : -1;
}

/* The length of each text t, and its last byte. */
static int predict_length(raytrain_predictor *p, struct error *e)
{
    uint64_t rows;
    int rc;

    if (predictor_output(p, "length", RAYTRAIN_INT64, 0, NULL, e) < 0 ||
        predictor_output(p, "last", RAYTRAIN_UINT8, 0, NULL, e) < 0)
        return -1;
    while ((rc = predictor_next(p, &rows, e)) == 0) {
        int64_t length[2048];
        uint8_t last[2048];
        raytrain_ragged t;

        if (dataset_ragged(predictor_dataset(p), "t", &t, e) < 0 || rows > 2048 ||
            t.rows != rows)
            return -1;
        for (uint64_t i = 0; i < rows; i++) {
            length[i] = (int64_t)(t.offsets[i + 1] - t.offsets[i]);
            last[i] = length[i] ? ((const uint8_t *)t.values)[t.offsets[i + 1] - 1] : 0;
        }
        if (predictor_put(p, "length", length, e) < 0 ||
            predictor_put(p, "last", last, e) < 0)
            return -1;
    }
    return rc > 0 ? 0 : -1;
}

/* The columns b and w, as the preprocessors have made them. */
static int predict_same(raytrain_predictor *p, struct error *e)
{
    static const char *const names[] = {"b", "w"};
    uint64_t rows;
    int rc;

    for (int i = 0; i < 2; i++) {
        raytrain_tensor row;

        if (dataset_column_info(predictor_dataset(p), names[i], &row, e) < 0 ||
            predictor_output(p, names[i], row.dtype, row.ndim, row.shape, e) < 0)
            return -1;
    }
    while ((rc = predictor_next(p, &rows, e)) == 0)
        for (int i = 0; i < 2; i++) {
            raytrain_tensor t;

            if (dataset_column(predictor_dataset(p), names[i], &t, e) < 0 ||
                predictor_put(p, names[i], t.data, e) < 0)
                return -1;
        }
    return rc > 0 ? 0 : -1;
}

static struct worker *busy_worker;

/* It takes a batch, and is busy until the test lets it continue. */
static int predict_long(raytrain_predictor *p, struct error *e)
{
    uint64_t rows;
    int rc;

    if (predictor_output(p, "y", RAYTRAIN_FLOAT32, 0, NULL, e) < 0 ||
        predictor_set_batch_size(p, 32, e) < 0)
        return -1;
    while ((rc = predictor_next(p, &rows, e)) == 0) {
        float y[2048] = {0};

        while (atomic_load(&busy_worker->is_busy))
            sched_yield();
        if (predictor_put(p, "y", y, e) < 0)
            return -1;
    }
    return rc > 0 ? 0 : -1;
}

static int predict_nothing(raytrain_predictor *p, struct error *e)
{
    uint64_t rows;

    return predictor_next(p, &rows, e);
}

static int predict_once(raytrain_predictor *p, struct error *e)
{
    uint64_t rows;

    if (predictor_output(p, "y", RAYTRAIN_FLOAT32, 0, NULL, e) < 0)
        return -1;
    return predictor_next(p, &rows, e) == 0 ? 0 : -1;
}

/* ---- The service ---- */

static void front_open(struct front *f, predict_func predict)
{
    static const struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "socket"};

    *f = (struct front){.line = -1};
    train_config_init(&f->worker.config);
    f->worker.config.predict.service = strdup("socket");
    f->worker.predict = predict;
    f->worker.sign_ms = -1;
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(f->listener, 4), 0);
    service_reader_init(&f->reader, SERVICE_MAX);
}

static void input(struct front *f, const char *text)
{
    assert_int_equal(
        predict_inputs_add(&f->worker.config.predict.inputs, text, "--input", &err), 0);
}

static void worker_start(struct front *f)
{
    assert_int_equal(pthread_create(&f->worker.thread, NULL, worker_run, &f->worker),
                     0);
}

/* Let the worker connect, and say hello. */
static void worker_enter(struct front *f)
{
    worker_start(f);
    f->line = accept(f->listener, NULL, NULL);
    assert_true(f->line >= 0);
    assert_int_equal(service_read(&f->reader, f->line, &err), SERVICE_DONE);
    assert_int_equal(f->reader.header.kind, SERVICE_HELLO);
    assert_int_equal(
        service_hello_read(f->reader.payload, f->reader.header.bytes, &f->hello, &err),
        0);
}

static void worker_join(struct front *f)
{
    assert_int_equal(pthread_join(f->worker.thread, NULL), 0);
}

static void line_close(struct front *f)
{
    if (f->line >= 0)
        close(f->line);
    f->line = -1;
}

static void front_close(struct front *f)
{
    line_close(f);
    close(f->listener);
    unlink("socket");
    service_reader_clear(&f->reader);
    service_hello_clear(&f->hello);
    train_config_clear(&f->worker.config);
}

/* The end as it should be: the worker hears of it, and has finished. */
static void front_leave(struct front *f)
{
    line_close(f);
    worker_join(f);
    assert_int_equal(f->worker.created, 0);
    assert_int_equal(f->worker.predicted, 0);
    assert_int_equal(f->worker.finished, 0);
    front_close(f);
}

static void batch_send(struct front *f, uint64_t id, uint64_t rows, const void *payload,
                       uint64_t bytes)
{
    struct service_writer w;

    service_writer_begin(&w, SERVICE_BATCH, id, rows, payload, bytes);
    assert_int_equal(service_write(&w, f->line, &err), SERVICE_DONE);
}

static void answer_await(struct front *f, enum service_kind kind, uint64_t id,
                         uint64_t rows)
{
    assert_int_equal(service_read(&f->reader, f->line, &err), SERVICE_DONE);
    if (f->reader.header.kind == SERVICE_FAILED && kind != SERVICE_FAILED)
        fail_msg("FAILED: %.*s", (int)f->reader.header.bytes,
                 (const char *)f->reader.payload);
    assert_int_equal(f->reader.header.kind, kind);
    assert_int_equal(f->reader.header.id, id);
    assert_int_equal(f->reader.header.rows, rows);
}

static void failure_await(struct front *f, uint64_t id, raytrain_status code,
                          const char *holds)
{
    char text[ERROR_TEXT_MAX] = "";

    answer_await(f, SERVICE_FAILED, id, (uint64_t)code);
    memcpy(text, f->reader.payload, f->reader.header.bytes);
    if (!strstr(text, holds))
        fail_msg("'%s' does not have '%s'", text, holds);
}

/* The rows of the answer, by column. */
static void answer_find(struct front *f, struct service_rows found[MAX_COLUMNS])
{
    assert_int_equal(service_find(f->hello.outputs, f->hello.n_outputs,
                                  f->reader.header.rows, f->reader.payload,
                                  f->reader.header.bytes, found, &err),
                     0);
}

/* ---- Batches of numbers ---- */

static void y_open(struct front *f)
{
    front_open(f, predict_y);
    input(f, "x:float32:2");
    worker_enter(f);
}

/* Rows (first, 1), (first + 1, 1), ... */
static void y_send(struct front *f, uint64_t id, uint64_t rows, float first)
{
    float x[128];

    for (uint64_t i = 0; i < rows; i++) {
        x[2 * i] = first + (float)i;
        x[2 * i + 1] = 1;
    }
    batch_send(f, id, rows, x, rows * 2 * sizeof *x);
}

static void y_await(struct front *f, uint64_t id, uint64_t rows, float first)
{
    struct service_rows found[MAX_COLUMNS];

    answer_await(f, SERVICE_RESULT, id, rows);
    answer_find(f, found);
    for (uint64_t i = 0; i < rows; i++)
        assert_float_equal(((const float *)(const void *)found[0].data)[i],
                           2 * (first + (float)i) + 1, 0);
}

static void hello_says_what_the_worker_predicts(void **state)
{
    struct front f;

    (void)state;
    front_open(&f, predict_y);
    input(&f, "x:float32:2");
    input(&f, "t:text");
    worker_enter(&f);
    assert_int_equal(f.hello.version, 7);
    assert_string_equal(f.hello.checkpoint, "/runs/a/checkpoint_7.h5");
    assert_int_equal(f.hello.pid, getpid());
    assert_int_equal(f.hello.batch, 32);
    assert_int_equal(f.hello.n_inputs, 2);
    assert_string_equal(f.hello.inputs[0].name, "x");
    assert_int_equal(f.hello.inputs[0].row.shape[0], 2);
    assert_int_equal(f.hello.inputs[1].kind, SERVICE_TEXT);
    assert_int_equal(f.hello.n_outputs, 1);
    assert_string_equal(f.hello.outputs[0].name, "y");
    assert_int_equal(f.hello.outputs[0].row.dtype, RAYTRAIN_FLOAT32);
    assert_int_equal(f.hello.outputs[0].row.ndim, 0);
    front_leave(&f);
}

static void the_batch_size_of_the_configuration_comes_first(void **state)
{
    struct front f;

    (void)state;
    front_open(&f, predict_y);
    input(&f, "x:float32:2");
    f.worker.config.predict.batch_size = 5;
    worker_enter(&f);
    assert_int_equal(f.hello.batch, 5);
    front_leave(&f);
}

static void each_batch_is_answered_with_its_predictions(void **state)
{
    struct front f;

    (void)state;
    y_open(&f);
    for (uint64_t i = 1; i <= 60; i++) {
        y_send(&f, 1000 - i, i, (float)i);
        y_await(&f, 1000 - i, i, (float)i);
    }
    front_leave(&f);
}

static void batches_may_wait_in_the_socket(void **state)
{
    struct front f;

    (void)state;
    y_open(&f);
    for (uint64_t i = 1; i <= 10; i++)
        y_send(&f, i, i, (float)i);
    for (uint64_t i = 1; i <= 10; i++)
        y_await(&f, i, i, (float)i);
    front_leave(&f);
}

static void a_batch_may_arrive_in_pieces(void **state)
{
    const struct service_header head = {
        .magic = SERVICE_MAGIC, .kind = SERVICE_BATCH, .id = 4, .rows = 1, .bytes = 8};
    const float x[] = {5, 1};
    struct front f;

    (void)state;
    y_open(&f);
    for (size_t i = 0; i < sizeof head; i++)
        assert_int_equal(write(f.line, (const char *)&head + i, 1), 1);
    assert_int_equal(write(f.line, x, 4), 4);
    assert_int_equal(write(f.line, x + 1, 4), 4);
    y_await(&f, 4, 1, 5);
    front_leave(&f);
}

/* y of x, into memory for the first batch; the texts t have their bytes. */
static int predict_within_the_first(raytrain_predictor *p, struct error *e)
{
    uint64_t rows, first = 0;
    float *y = NULL;
    int rc;

    if (predictor_output(p, "pad", RAYTRAIN_UINT8, 0, NULL, e) < 0 ||
        predictor_output(p, "y", RAYTRAIN_FLOAT32, 0, NULL, e) < 0 ||
        predictor_set_batch_size(p, 7, e) < 0)
        return -1;
    while ((rc = predictor_next(p, &rows, e)) == 0) {
        raytrain_ragged t;
        raytrain_tensor x;

        if (!y)
            y = malloc((first = rows) * sizeof *y);
        if (!y || rows > first ||
            dataset_column(predictor_dataset(p), "x", &x, e) < 0 ||
            dataset_ragged(predictor_dataset(p), "t", &t, e) < 0)
            break;
        for (uint64_t i = 0; i < rows; i++)
            y[i] = ((const float *)x.data)[i] +
                   (float)(t.offsets[i + 1] - t.offsets[i]) +
                   ((const uint8_t *)t.values)[t.offsets[i]];
        if (predictor_put(p, "y", y, e) < 0 || predictor_put(p, "pad", y, e) < 0)
            break;
    }
    free(y);
    return rc > 0 && first == 7 ? 0 : -1;
}

static void no_batch_is_larger_than_the_first_one(void **state)
{
    static const uint64_t offsets[] = {0, 1, 3, 4, 5, 6, 7, 8};
    static const float x[] = {0.5, 1.5, 2.5, 3, 4, 5, 6};
    struct front f;

    (void)state;
    front_open(&f, predict_within_the_first);
    input(&f, "x:float32");
    input(&f, "t:text");
    worker_enter(&f);
    for (uint64_t id = 1; id <= 4; id++) {
        uint64_t rows = id == 1 ? 3 : 2 * id - 1, texts[] = {0, offsets[rows]}, n;
        struct service_rows found[MAX_COLUMNS];
        unsigned char payload[256] = {0};

        assert_int_equal(
            service_layout(f.hello.inputs, 2, rows, texts, f.places, &n, &err), 0);
        memcpy(payload, x, rows * sizeof *x);
        memcpy(payload + f.places[1], offsets, (rows + 1) * sizeof *offsets);
        memcpy(payload + f.places[1] + (rows + 1) * sizeof *offsets, "abbcdefg",
               offsets[rows]);
        batch_send(&f, id, rows, payload, n);
        answer_await(&f, SERVICE_RESULT, id, rows);
        answer_find(&f, found);
        for (uint64_t i = 0; i < rows; i++)
            assert_float_equal(((const float *)(const void *)found[1].data)[i],
                               x[i] + (i == 1 ? 2 : 1) + (float)('a' + i), 0);
    }
    front_leave(&f);
}

/* ---- Batches that fail ---- */

static void a_batch_of_wrong_sizes_fails_and_the_next_one_is_answered(void **state)
{
    const float x[16] = {0};
    struct front f;

    (void)state;
    y_open(&f);
    batch_send(&f, 1, 2, x, 15);
    failure_await(&f, 1, RAYTRAIN_ECORRUPT, "\"x\"");
    batch_send(&f, 2, 2, x, 17);
    failure_await(&f, 2, RAYTRAIN_ECORRUPT, "17 bytes");
    batch_send(&f, 3, UINT64_MAX, x, 16);
    failure_await(&f, 3, RAYTRAIN_ECORRUPT, "\"x\"");
    batch_send(&f, 4, 0, x, 0);
    failure_await(&f, 4, RAYTRAIN_ECORRUPT, "no rows");
    batch_send(&f, 5, 2, NULL, 0);
    failure_await(&f, 5, RAYTRAIN_ECORRUPT, "\"x\"");
    y_send(&f, 6, 3, 10);
    y_await(&f, 6, 3, 10);
    front_leave(&f);
}

static void a_batch_whose_output_is_not_put_fails(void **state)
{
    struct front f;

    (void)state;
    y_open(&f);
    y_send(&f, 1, 2, -1);
    failure_await(&f, 1, RAYTRAIN_EFAILED, "\"y\"");
    y_send(&f, 2, 2, 1);
    y_await(&f, 2, 2, 1);
    y_send(&f, 3, 2, -1); /* what was put before is not sent again */
    failure_await(&f, 3, RAYTRAIN_EFAILED, "\"y\"");
    front_leave(&f);
}

static void bytes_that_are_no_message_end_the_prediction(void **state)
{
    char junk[sizeof(struct service_header)];
    struct front f;

    (void)state;
    memset(junk, 'x', sizeof junk);
    y_open(&f);
    assert_int_equal(write(f.line, junk, sizeof junk), sizeof junk);
    worker_join(&f);
    assert_int_equal(f.worker.predicted, -1);
    assert_int_equal(f.worker.error.code, RAYTRAIN_ECORRUPT);
    front_close(&f);
}

static void a_message_that_is_no_batch_ends_the_prediction(void **state)
{
    struct service_writer w;
    struct front f;

    (void)state;
    y_open(&f);
    service_writer_begin(&w, SERVICE_RESULT, 1, 1, "x", 1);
    assert_int_equal(service_write(&w, f.line, &err), SERVICE_DONE);
    worker_join(&f);
    assert_int_equal(f.worker.predicted, -1);
    assert_int_equal(f.worker.error.code, RAYTRAIN_ECORRUPT);
    front_close(&f);
}

/* ---- The end ---- */

static void a_service_that_closes_in_the_middle_of_a_batch_is_the_end(void **state)
{
    struct service_header head = {
        .magic = SERVICE_MAGIC, .kind = SERVICE_BATCH, .rows = 1, .bytes = 8};
    struct front f;

    (void)state;
    y_open(&f);
    assert_int_equal(write(f.line, &head, sizeof head), sizeof head);
    assert_int_equal(write(f.line, "abc", 3), 3);
    front_leave(&f);
}

static void a_service_that_takes_no_answer_is_the_end(void **state)
{
    struct front f;

    (void)state;
    y_open(&f);
    for (uint64_t i = 1; i <= 50; i++)
        y_send(&f, i, 60, 1);
    front_leave(&f); /* with what was sent and is not read */
}

/* Batch systems signal workers together with their service. */
static void a_stop_does_not_end_a_worker_that_is_connected(void **state)
{
    struct front f;

    (void)state;
    y_open(&f);
    y_send(&f, 1, 2, 1);
    y_await(&f, 1, 2, 1);
    atomic_store(&f.worker.stop, 1);
    y_send(&f, 2, 2, 1);
    y_await(&f, 2, 2, 1);
    front_leave(&f);
}

static void a_stop_ends_a_worker_that_has_not_connected(void **state)
{
    struct front f;

    (void)state;
    front_open(&f, predict_y);
    input(&f, "x:float32:2");
    atomic_store(&f.worker.stop, 1);
    worker_start(&f);
    worker_join(&f);
    assert_int_equal(f.worker.finished, 0);
    front_close(&f);
}

static void a_predict_function_that_returns_early_has_failed(void **state)
{
    struct front f;

    (void)state;
    front_open(&f, predict_once);
    input(&f, "x:float32:2");
    worker_enter(&f);
    y_send(&f, 1, 1, 1);
    worker_join(&f);
    assert_int_equal(f.worker.predicted, 0);
    assert_int_equal(f.worker.finished, -1);
    assert_int_equal(f.worker.error.code, RAYTRAIN_EFAILED);
    assert_true(service_read(&f.reader, f.line, &err) != SERVICE_DONE);
    front_close(&f);
}

static void a_predict_function_without_outputs_has_failed(void **state)
{
    struct front f;

    (void)state;
    front_open(&f, predict_nothing);
    input(&f, "x:float32:2");
    worker_start(&f);
    worker_join(&f);
    assert_int_equal(f.worker.predicted, -1);
    assert_non_null(strstr(f.worker.error.text, "raytrain_predictor_output()"));
    front_close(&f);
}

static void a_service_that_is_not_there_is_an_error(void **state)
{
    struct front f;

    (void)state;
    front_open(&f, predict_y);
    input(&f, "x:float32:2");
    unlink("socket");
    worker_start(&f);
    worker_join(&f);
    assert_int_equal(f.worker.predicted, -1);
    assert_int_equal(f.worker.error.code, RAYTRAIN_ECOMM);
    front_close(&f);
}

static void a_worker_that_waits_gives_signs_of_progress(void **state)
{
    struct front f;

    (void)state;
    front_open(&f, predict_y);
    input(&f, "x:float32:2");
    f.worker.sign_ms = 1;
    worker_enter(&f);
    while (atomic_load(&f.worker.signs) < 5)
        sched_yield();
    front_leave(&f);
}

static void a_busy_worker_gives_signs_of_life_and_a_stopped_one_does_not(void **state)
{
    struct pollfd on = {.events = POLLIN};
    struct front f;
    char byte;
    int signs;

    (void)state;
    front_open(&f, predict_long);
    busy_worker = &f.worker;
    input(&f, "x:float32:2");
    atomic_store(&f.worker.is_busy, true);
    worker_enter(&f);
    signs = accept(f.listener, NULL, NULL);
    assert_true(signs >= 0);
    y_send(&f, 1, 2, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(read(signs, &byte, 1), 1);
    atomic_store(&f.worker.is_stopped, true);
    on.fd = signs;
    while (poll(&on, 1, 1000) == 1) /* those that were on their way */
        assert_int_equal(read(signs, &byte, 1), 1);
    atomic_store(&f.worker.is_busy, false);
    front_leave(&f);
    assert_int_equal(read(signs, &byte, 1), 0); /* they end with the prediction */
    close(signs);
}

/* ---- Text ---- */

static void text_arrives_as_it_was_sent(void **state)
{
    static const char bytes[] = "abxyz";
    static const uint64_t offsets[] = {0, 2, 2, 5}, texts[] = {5};
    unsigned char payload[128];
    struct service_rows found[MAX_COLUMNS];
    uint64_t n;
    struct front f;

    (void)state;
    front_open(&f, predict_length);
    input(&f, "t:text");
    worker_enter(&f);
    assert_int_equal(service_layout(f.hello.inputs, 1, 3, texts, f.places, &n, &err),
                     0);
    memcpy(payload, offsets, sizeof offsets);
    memcpy(payload + sizeof offsets, bytes, 5);
    batch_send(&f, 1, 3, payload, n);
    answer_await(&f, SERVICE_RESULT, 1, 3);
    answer_find(&f, found);
    assert_int_equal(((const int64_t *)(const void *)found[0].data)[0], 2);
    assert_int_equal(((const int64_t *)(const void *)found[0].data)[1], 0);
    assert_int_equal(((const int64_t *)(const void *)found[0].data)[2], 3);
    assert_memory_equal(found[1].data, "b\0z", 3);
    payload[8] = 9; /* an offset behind the next one */
    batch_send(&f, 2, 3, payload, n);
    failure_await(&f, 2, RAYTRAIN_ECORRUPT, "\"t\"");
    front_leave(&f);
}

/* ---- Preprocessors ---- */

#define CHAIN                                                                          \
    "{ standard_scaler = { columns = [\"b\"]; }; }, "                                  \
    "{ one_hot_encoder = { columns = [\"w\"]; }; }"

/* Rows first..first+n of the table, of its columns b and w; `unknown`: the word of the
 * first one is none that was learned. */
static void table_send(struct front *f, uint64_t id, uint64_t first, uint64_t n,
                       bool unknown)
{
    const double *b = (const double *)(const void *)frame_find(&table, "b")->data;
    const struct frame_column *w = frame_find(&table, "w");
    const int32_t *codes = (const int32_t *)(const void *)w->data;
    uint64_t offsets[ROWS + 1] = {0}, texts[2] = {0}, bytes;
    unsigned char *payload = aligned_alloc(64, 1 << 20);
    char text[1 << 14];

    for (uint64_t i = 0; i < n; i++) {
        const char *word =
            dictionary_word(w->words, (size_t)codes[first + i], &offsets[i + 1]);

        if (unknown && i == 0) {
            word = "no such word";
            offsets[1] = strlen(word);
        }
        memcpy(text + offsets[i], word, offsets[i + 1]);
        offsets[i + 1] += offsets[i];
    }
    texts[1] = offsets[n];
    assert_int_equal(
        service_layout(f->hello.inputs, 2, n, texts, f->places, &bytes, &err), 0);
    memset(payload, 0, bytes);
    memcpy(payload + f->places[0], b + first, n * sizeof *b);
    memcpy(payload + f->places[1], offsets, (n + 1) * sizeof *offsets);
    memcpy(payload + f->places[1] + (n + 1) * sizeof *offsets, text, offsets[n]);
    batch_send(f, id, n, payload, bytes);
    free(payload);
}

static void rows_go_through_the_preprocessors(void **state)
{
    struct service_rows found[MAX_COLUMNS];
    struct frame expected = FRAME_INIT;
    struct job job;
    struct front f;

    (void)state;
    assert_int_equal(fit(&job, CHAIN, 1, 16), 0);
    transformed(&job.chains[0], &expected);
    front_open(&f, predict_same);
    input(&f, "b:float64");
    input(&f, "w:text");
    f.worker.chain = &job.chains[0];
    worker_enter(&f);
    for (uint64_t first = 0, n = 1; first + n <= ROWS; first += n, n = n % 7 + 1) {
        table_send(&f, first, first, n, false);
        answer_await(&f, SERVICE_RESULT, first, n);
        answer_find(&f, found);
        for (int i = 0; i < 2; i++) {
            const struct frame_column *c = frame_find(&expected, i ? "w" : "b");
            size_t row = frame_row_bytes(c);

            assert_int_equal(service_row_bytes(&f.hello.outputs[i]), row);
            assert_memory_equal(found[i].data, c->data + first * row, n * row);
        }
    }
    front_leave(&f);
    frame_clear(&expected);
    job_clear(&job);
}

static void a_word_that_was_not_learned_is_of_no_category(void **state)
{
    struct service_rows found[MAX_COLUMNS];
    struct job job;
    struct front f;
    size_t n;

    (void)state;
    assert_int_equal(fit(&job, CHAIN, 1, 16), 0);
    front_open(&f, predict_same);
    input(&f, "b:float64");
    input(&f, "w:text");
    f.worker.chain = &job.chains[0];
    worker_enter(&f);
    n = service_row_bytes(&f.hello.outputs[1]);
    table_send(&f, 1, 0, 2, true);
    answer_await(&f, SERVICE_RESULT, 1, 2);
    answer_find(&f, found);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found[1].data[i], 0);
    for (size_t i = 0; i < n; i++)
        if (found[1].data[n + i])
            n = 0; /* but the other one is of one */
    assert_int_equal(n, 0);
    front_leave(&f);
    job_clear(&job);
}

static void a_row_that_a_preprocessor_refuses_fails(void **state)
{
    struct job job;
    struct front f;
    unsigned char payload[128] = {0};
    const double b = 1;
    uint64_t bytes;

    (void)state;
    assert_int_equal(fit(&job, CHAIN, 1, 16), 0);
    front_open(&f, predict_same);
    input(&f, "b:float64");
    input(&f, "w:text");
    f.worker.chain = &job.chains[0];
    worker_enter(&f);
    /* An empty text is a missing value, which the encoder does not take. */
    assert_int_equal(service_layout(f.hello.inputs, 2, 1, NULL, f.places, &bytes, &err),
                     0);
    memcpy(payload, &b, sizeof b);
    batch_send(&f, 1, 1, payload, bytes);
    failure_await(&f, 1, RAYTRAIN_EINVAL, "\"w\"");
    table_send(&f, 2, 3, 4, false);
    answer_await(&f, SERVICE_RESULT, 2, 4);
    front_leave(&f);
    job_clear(&job);
}

static void a_column_that_a_preprocessor_lacks_is_an_error(void **state)
{
    struct job job;
    struct front f;

    (void)state;
    assert_int_equal(fit(&job, CHAIN, 1, 16), 0);
    front_open(&f, predict_same);
    input(&f, "b:float64");
    f.worker.chain = &job.chains[0];
    worker_start(&f);
    worker_join(&f);
    assert_int_equal(f.worker.created, -1);
    assert_non_null(strstr(f.worker.error.text, "\"w\""));
    front_close(&f);
    job_clear(&job);
}

/* ---- Inputs like those of a dataset ---- */

static void inputs_like_a_dataset_are_its_columns_without_the_label(void **state)
{
    struct job job;
    struct front f;
    struct frame like = FRAME_INIT;

    (void)state;
    assert_int_equal(fit(&job, CHAIN, 1, 16), 0);
    for (int i = 0; i < 3; i++) {
        size_t at;

        assert_int_equal(frame_add(&like,
                                   frame_find(&table, i == 0   ? "b"
                                                      : i == 1 ? "c"
                                                               : "w"),
                                   &at, &err),
                         0);
    }
    front_open(&f, predict_same);
    f.worker.chain = &job.chains[0];
    f.worker.like = &like;
    f.worker.label = "c";
    worker_enter(&f);
    assert_int_equal(f.hello.n_inputs, 2);
    assert_string_equal(f.hello.inputs[0].name, "b");
    assert_string_equal(f.hello.inputs[1].name, "w");
    assert_int_equal(f.hello.inputs[1].kind, SERVICE_TEXT);
    table_send(&f, 2, 3, 4, false);
    answer_await(&f, SERVICE_RESULT, 2, 4);
    front_leave(&f);
    frame_clear(&like);
    job_clear(&job);
}

static void a_column_that_a_service_cannot_have_is_refused(void **state)
{
    struct serve_inputs inputs;

    (void)state;
    assert_int_equal(serve_inputs_like(&table, NULL, NULL, &inputs, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_non_null(strstr(err.text, "\"l\""));
    assert_non_null(strstr(err.text, "predict.inputs"));
}

static void the_rows_are_moved_by_the_predictor_alone(void **state)
{
    struct frame columns = FRAME_INIT;
    raytrain_dataset *ds;
    uint64_t rows;
    size_t at;

    (void)state;
    assert_int_equal(frame_add(&columns, frame_find(&table, "b"), &at, &err), 0);
    assert_int_equal(dataset_open_brought("predict", &columns, NULL, &ds, &err), 0);
    assert_int_equal(dataset_set_batch_size(ds, 4, &err), 0);
    assert_int_equal(dataset_next(ds, &rows, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "raytrain_predictor_next()"));
    assert_null(dataset_batch(ds));
    dataset_close(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(hello_says_what_the_worker_predicts),
        SCRATCH(the_batch_size_of_the_configuration_comes_first),
        SCRATCH(each_batch_is_answered_with_its_predictions),
        SCRATCH(no_batch_is_larger_than_the_first_one),
        SCRATCH(batches_may_wait_in_the_socket),
        SCRATCH(a_batch_may_arrive_in_pieces),
        SCRATCH(a_batch_of_wrong_sizes_fails_and_the_next_one_is_answered),
        SCRATCH(a_batch_whose_output_is_not_put_fails),
        SCRATCH(bytes_that_are_no_message_end_the_prediction),
        SCRATCH(a_message_that_is_no_batch_ends_the_prediction),
        SCRATCH(a_service_that_closes_in_the_middle_of_a_batch_is_the_end),
        SCRATCH(a_service_that_takes_no_answer_is_the_end),
        SCRATCH(a_stop_does_not_end_a_worker_that_is_connected),
        SCRATCH(a_stop_ends_a_worker_that_has_not_connected),
        SCRATCH(a_predict_function_that_returns_early_has_failed),
        SCRATCH(a_predict_function_without_outputs_has_failed),
        SCRATCH(a_service_that_is_not_there_is_an_error),
        SCRATCH(a_worker_that_waits_gives_signs_of_progress),
        SCRATCH(a_busy_worker_gives_signs_of_life_and_a_stopped_one_does_not),
        SCRATCH(text_arrives_as_it_was_sent),
        SCRATCH(rows_go_through_the_preprocessors),
        SCRATCH(a_word_that_was_not_learned_is_of_no_category),
        SCRATCH(a_row_that_a_preprocessor_refuses_fails),
        SCRATCH(a_column_that_a_preprocessor_lacks_is_an_error),
        SCRATCH(inputs_like_a_dataset_are_its_columns_without_the_label),
        SCRATCH(a_column_that_a_service_cannot_have_is_refused),
        SCRATCH(the_rows_are_moved_by_the_predictor_alone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, table_make, table_free);
}
