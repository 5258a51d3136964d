/*
 * service_predictor.c - see service_predictor.h. In order: life, the connection and
 * HELLO, answers, batches.
 */
#include "serve/service_predictor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/life_signs.h"
#include "serve/repeat_rows.h"
#include "serve/service_socket.h"

struct service_predictor {
    struct raytrain_predictor base;
    struct service_predictor_env env;
    struct serve_inputs inputs;
    struct service_rows *found; /* the inputs, in the message of the current batch */

    /* Valid after the first next. */
    int socket; /* -1: not connected yet, or no longer */
    struct life_signs *signs;
    struct service_reader reader;
    struct service_column *outputs; /* as base.predicted */
    uint64_t *places; /* of the outputs in the answer; then those in a shorter one */
    bool *there;      /* whether each has been put */
    unsigned char *answer; /* aligned to SERVICE_ALIGN */
    uint64_t answer_room, answer_bytes;
    uint64_t id; /* of the current batch */
    uint64_t
        asked; /* the rows that came; base.rows: those that the predict function gets */
    bool has_largest; /* the predict function has had a batch of the largest size */
    bool ended;
};

static const struct predictor_ops service_ops;

static struct service_predictor *service_predictor_of(raytrain_predictor *base)
{
    return (struct service_predictor *)(void *)base;
}

/* ---- Life ---- */

static void disconnect(struct service_predictor *p)
{
    life_signs_stop(p->signs);
    p->signs = NULL;
    if (p->socket >= 0)
        close(p->socket);
    p->socket = -1;
}

static void service_destroy(raytrain_predictor *base)
{
    struct service_predictor *p = service_predictor_of(base);

    disconnect(p);
    service_reader_clear(&p->reader);
    serve_inputs_clear(&p->inputs);
    free(p->found);
    free(p->outputs);
    free(p->places);
    free(p->there);
    free(p->answer);
    free(p);
}

int service_predictor_create(const struct service_predictor_env *env,
                             struct serve_inputs *inputs, raytrain_predictor **out,
                             struct error *err)
{
    struct service_predictor *p = calloc(1, sizeof *p);

    if (!p) {
        serve_inputs_clear(inputs);
        return error_no_memory(err);
    }
    p->base.ops = &service_ops;
    p->env = *env;
    p->socket = -1;
    service_reader_init(&p->reader, SERVICE_MAX);
    p->inputs = *inputs;
    *inputs = (struct serve_inputs){.schema = FRAME_INIT};
    p->found = calloc(p->inputs.n, sizeof *p->found);
    if (!p->found) {
        predictor_destroy(&p->base);
        return error_no_memory(err);
    }
    if (dataset_open_brought(PREDICT_DATASET, &p->inputs.schema, env->chain,
                             &p->base.input, err) < 0) {
        predictor_destroy(&p->base);
        return -1;
    }
    *out = &p->base;
    return 0;
}

/* ---- The connection ---- */

static int wait_failed(struct error *err)
{
    return error_set(err, RAYTRAIN_EFAILED, "cannot wait for the service: %s",
                     strerror(errno));
}

/* Connect; afterwards the socket does not block. */
static int service_connect(struct service_predictor *p, struct error *err)
{
    int flags;

    if (service_socket_connect(p->env.config->service, &p->socket, err) < 0)
        return -1;
    flags = fcntl(p->socket, F_GETFL);
    if (flags >= 0 && fcntl(p->socket, F_SETFL, flags | O_NONBLOCK) == 0)
        return 0;
    disconnect(p);
    return wait_failed(err);
}

/* Send a whole message. 0, 1 if the service has ended, or -1. */
static int message_send(struct service_predictor *p, enum service_kind kind,
                        uint64_t rows, const void *payload, uint64_t bytes,
                        struct error *err)
{
    struct pollfd on = {.fd = p->socket, .events = POLLOUT};
    struct service_writer w;
    int rc;

    service_writer_begin(&w, kind, p->id, rows, payload, bytes);
    while ((rc = service_write(&w, p->socket, err)) == SERVICE_LATER)
        if (poll(&on, 1, -1) < 0 && errno != EINTR)
            return wait_failed(err);
    if (rc == SERVICE_DONE)
        return 0;
    return err->code == RAYTRAIN_ECOMM ? 1 : -1;
}

static uint64_t largest_batch(const struct service_predictor *p)
{
    const struct predict_config *cfg = p->env.config;

    if (cfg->batch_size > 0)
        return (uint64_t)cfg->batch_size;
    return p->base.batch > 0 ? p->base.batch : PREDICTOR_BATCH;
}

static int hello_send(struct service_predictor *p, struct error *err)
{
    const struct service_hello hello = {.version = p->env.iteration,
                                        .checkpoint = (char *)p->env.checkpoint,
                                        .pid = getpid(),
                                        .batch = largest_batch(p),
                                        .inputs = p->inputs.columns,
                                        .outputs = p->outputs,
                                        .n_inputs = p->inputs.n,
                                        .n_outputs = p->base.predicted.n,
                                        .missing = (char **)p->inputs.missing.texts,
                                        .n_missing = p->inputs.missing.n};
    char *text;
    size_t n;
    int rc;

    if (service_hello_write(&hello, &text, &n, err) < 0)
        return -1;
    rc = message_send(p, SERVICE_HELLO, 0, text, n, err);
    free(text);
    return rc;
}

static int outputs_make(struct service_predictor *p, struct error *err)
{
    const struct predicted *made = &p->base.predicted;

    if (predictor_check(&p->base, err) < 0)
        return -1;
    p->outputs = calloc(made->n, sizeof *p->outputs);
    p->places = calloc(2 * made->n, sizeof *p->places);
    p->there = calloc(made->n, sizeof *p->there);
    if (!p->outputs || !p->places || !p->there)
        return error_no_memory(err);
    for (size_t i = 0; i < made->n; i++) {
        strcpy(p->outputs[i].name, made->columns[i].name);
        p->outputs[i].row = made->columns[i].row;
    }
    return 0;
}

/* As message_send(). */
static int signs_begin(struct service_predictor *p, struct error *err)
{
    int rc = life_signs_start(p->env.config->service, p->env.lives, p->env.arg,
                              &p->signs, err);

    if (rc == 0)
        return 0;
    return err->code == RAYTRAIN_ECOMM ? 1 : -1;
}

/* 0, 1 if the service has ended, or -1. */
static int service_predictor_begin(struct service_predictor *p, struct error *err)
{
    int rc;

    p->base.begun = true;
    if (p->env.stops(p->env.arg))
        return 1;
    if (outputs_make(p, err) < 0 || service_connect(p, err) < 0)
        return -1;
    rc = hello_send(p, err);
    return rc == 0 ? signs_begin(p, err) : rc;
}

/* ---- Answers ---- */

static int answer_reserve(struct service_predictor *p, uint64_t bytes,
                          struct error *err)
{
    if (bytes <= p->answer_room)
        return 0;
    free(p->answer);
    p->answer_room = (bytes / SERVICE_ALIGN + 1) * SERVICE_ALIGN;
    p->answer = aligned_alloc(SERVICE_ALIGN, p->answer_room);
    if (p->answer)
        return 0;
    p->answer_room = 0;
    return error_no_memory(err);
}

/* Make room for the outputs of `rows` rows, with zeros between them. */
static int answer_begin(struct service_predictor *p, uint64_t rows, struct error *err)
{
    size_t n = p->base.predicted.n;

    if (service_layout(p->outputs, n, rows, NULL, p->places, &p->answer_bytes, err) <
            0 ||
        answer_reserve(p, p->answer_bytes, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t end = p->places[i] + rows * p->base.predicted.columns[i].row_bytes;
        uint64_t next = i + 1 < n ? p->places[i + 1] : p->answer_bytes;

        memset(p->answer + end, 0, next - end);
        p->there[i] = false;
    }
    return 0;
}

static int service_put(raytrain_predictor *base, size_t column, const void *data,
                       struct error *err)
{
    struct service_predictor *p = service_predictor_of(base);

    (void)err;
    memcpy(p->answer + p->places[column], data,
           base->rows * base->predicted.columns[column].row_bytes);
    p->there[column] = true;
    return 0;
}

/* Send the reason why this batch has failed. As message_send(). */
static int failed_send(struct service_predictor *p, const struct error *why,
                       struct error *err)
{
    return message_send(p, SERVICE_FAILED, (uint64_t)why->code, why->text,
                        strlen(why->text), err);
}

/* Keep only the rows that were asked for: move those of each output to their place in a
 * shorter answer. */
static int answer_shorten(struct service_predictor *p, struct error *err)
{
    size_t n = p->base.predicted.n;
    uint64_t *places = p->places + n, bytes;

    if (p->asked == p->base.rows)
        return 0;
    if (service_layout(p->outputs, n, p->asked, NULL, places, &bytes, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t end = places[i] + p->asked * p->base.predicted.columns[i].row_bytes;
        uint64_t next = i + 1 < n ? places[i + 1] : bytes;

        memmove(p->answer + places[i], p->answer + p->places[i], end - places[i]);
        memset(p->answer + end, 0, next - end);
    }
    p->answer_bytes = bytes;
    return 0;
}

/* If the service has ended, the next call of next returns it. */
static int service_fail(raytrain_predictor *base, const struct error *why,
                        struct error *err)
{
    struct error text = *why;

    base->rows = 0;
    return failed_send(service_predictor_of(base), &text, err) < 0 ? -1 : 0;
}

/* Send the answer to the current batch, with which the predict function has
 * finished. */
static int answer_send(struct service_predictor *p, struct error *err)
{
    struct error why;
    int rc = answer_shorten(p, err);

    p->base.rows = 0;
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < p->base.predicted.n; i++)
        if (!p->there[i]) {
            error_set(&why, RAYTRAIN_EFAILED,
                      "output \"%s\" of this batch was not put: each batch needs "
                      "raytrain_predictor_put() of all outputs before the next one",
                      p->outputs[i].name);
            return failed_send(p, &why, err);
        }
    return message_send(p, SERVICE_RESULT, p->asked, p->answer, p->answer_bytes, err);
}

/* ---- Batches ---- */

/* Sleep until the socket is ready, or it is time for a sign of life. */
static int socket_await(const struct service_predictor *p, struct error *err)
{
    struct pollfd on = {.fd = p->socket, .events = POLLIN};

    if (poll(&on, 1, p->env.sign_ms) >= 0 || errno == EINTR)
        return on.revents != 0;
    return wait_failed(err);
}

/* 0: there is a message; 1: there will be no more; -1: error. */
static int message_await(struct service_predictor *p, struct error *err)
{
    for (;;) {
        int rc;

        p->env.goes_on(p->env.arg);
        rc = socket_await(p, err);
        if (rc > 0)
            rc = service_read(&p->reader, p->socket, err);
        else if (rc == 0)
            continue;
        if (rc == SERVICE_DONE)
            return 0;
        if (rc == SERVICE_CLOSED || (rc < 0 && err->code == RAYTRAIN_ECOMM))
            return 1;
        if (rc < 0)
            return -1;
    }
}

/* Put the rows into the dataset of the predict function. */
static int rows_bring(struct service_predictor *p, uint64_t rows, struct error *err)
{
    struct frame *f = dataset_bring(p->base.input, err);

    if (!f || serve_inputs_fill(&p->inputs, rows, p->found, f, err) < 0)
        return -1;
    return dataset_brought(p->base.input, err);
}

/* Make the rows of a message the current batch. A predict function may rely on its
 * first batch being the largest: that one has its rows repeatedly. */
static int batch_take(struct service_predictor *p, struct error *err)
{
    const struct service_reader *r = &p->reader;
    uint64_t rows = r->header.rows, largest = largest_batch(p);
    void *repeated = NULL;
    int rc = 0;

    if (rows == 0)
        return error_set(err, RAYTRAIN_ECORRUPT, "a batch of the service has no rows");
    if (service_find(p->inputs.columns, p->inputs.n, rows, r->payload, r->header.bytes,
                     p->found, err) < 0)
        return -1;
    p->asked = rows;
    if (!p->has_largest && rows < largest) {
        rc = repeat_rows(p->inputs.columns, p->inputs.n, rows, largest, p->found,
                         &repeated, err);
        rows = largest;
    }
    if (rc == 0)
        rc = rows_bring(p, rows, err);
    free(repeated);
    if (rc < 0 || answer_begin(p, rows, err) < 0)
        return -1;
    p->has_largest = true;
    p->base.rows = rows;
    return 0;
}

/* Wait for a batch that can be used. 0, 1 if there are no more, or -1. */
static int batch_await(struct service_predictor *p, struct error *err)
{
    for (;;) {
        struct error why;
        int rc = message_await(p, err);

        if (rc != 0)
            return rc;
        if (p->reader.header.kind != SERVICE_BATCH)
            return error_set(err, RAYTRAIN_ECORRUPT,
                             "the service has sent something other than a batch");
        p->id = p->reader.header.id;
        if (batch_take(p, &why) == 0)
            return 0;
        rc = failed_send(p, &why, err);
        if (rc != 0)
            return rc;
    }
}

/* Send the answer, and wait for the next batch. */
static int service_next(raytrain_predictor *base, uint64_t *rows, struct error *err)
{
    struct service_predictor *p = service_predictor_of(base);
    int rc = 0;

    if (p->ended)
        return 1;
    if (!base->begun)
        rc = service_predictor_begin(p, err);
    else if (p->socket < 0)
        rc = error_set(err, RAYTRAIN_EFAILED, "the prediction has failed before");
    else if (base->rows > 0)
        rc = answer_send(p, err);
    if (rc == 0)
        rc = batch_await(p, err);
    *rows = base->rows;
    if (rc > 0) {
        p->ended = true;
        disconnect(p);
    }
    return rc;
}

static int service_finish(raytrain_predictor *base, struct error *err)
{
    return service_predictor_of(base)->ended ? 0 : predictor_fail_early(err);
}

static const struct predictor_ops service_ops = {.next = service_next,
                                                 .put = service_put,
                                                 .fail = service_fail,
                                                 .finish = service_finish,
                                                 .destroy = service_destroy};
