/*
 * model_version.c - one version of a model. Sections: its life, the queue, batches that are
 * sent, answers that arrive, workers that are lost, and requests that are given up.
 */
#include "service/model_version.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define DEFAULT_BATCH 256

/* ---- Its life ---- */

int model_version_create(struct service_hello *hello,
                         const struct version_limits *limits,
                         struct service_counts *counts, struct model_version **out,
                         struct error *err)
{
    struct model_version *v = calloc(1, sizeof *v);

    if (!v)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a model");
    v->model = *hello;
    *hello = (struct service_hello){0};
    v->limits = *limits;
    if (v->limits.batch == 0)
        v->limits.batch = v->model.batch > 0 ? v->model.batch : DEFAULT_BATCH;
    v->counts = counts;
    v->queue_end = &v->queue;
    *out = v;
    return 0;
}

void model_version_destroy(struct model_version *v)
{
    if (!v)
        return;
    if (v->free_attached)
        v->free_attached(v->attached);
    service_hello_clear(&v->model);
    free(v);
}

static bool same_column(const struct service_column *a, const struct service_column *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->kind == b->kind &&
                a->row.dtype == b->row.dtype && a->row.ndim == b->row.ndim;

    for (int i = 0; same && i < a->row.ndim; i++)
        same = a->row.shape[i] == b->row.shape[i];
    return same;
}

static int version_columns_check(const char *what, const struct service_column a[],
                                 size_t n_a, const struct service_column b[],
                                 size_t n_b, struct error *err)
{
    for (size_t i = 0; i < n_a && i < n_b; i++)
        if (!same_column(&a[i], &b[i]))
            return error_set(err, RAYTRAIN_EINVAL,
                             "%s %zu, \"%s\", differs from that of the others", what, i,
                             b[i].name);
    if (n_a != n_b)
        return error_set(err, RAYTRAIN_EINVAL, "it has %zu %ss, the others have %zu",
                         n_b, what, n_a);
    return 0;
}

int model_version_check(const struct model_version *v,
                        const struct service_hello *hello, struct error *err)
{
    if (version_columns_check("input", v->model.inputs, v->model.n_inputs,
                              hello->inputs, hello->n_inputs, err) < 0)
        return -1;
    return version_columns_check("output", v->model.outputs, v->model.n_outputs,
                                 hello->outputs, hello->n_outputs, err);
}

void model_version_add_worker(struct model_version *v, struct worker_link *w)
{
    w->served = v;
    w->next = v->workers;
    v->workers = w;
}

size_t model_version_workers(const struct model_version *v)
{
    size_t n = 0;

    for (const struct worker_link *w = v->workers; w; w = w->next)
        n += !w->is_lost;
    return n;
}

bool model_version_is_idle(const struct model_version *v)
{
    for (const struct worker_link *w = v->workers; w; w = w->next)
        if (w->n > 0)
            return false;
    return !v->queue;
}

/* ---- The queue ---- */

static void queue_add(struct model_version *v, struct piece *p)
{
    p->next = NULL;
    *v->queue_end = p;
    v->queue_end = &p->next;
    v->queue_rows += p->n;
    v->queue_pieces++;
    p->q->waiting++;
}

static void queue_put_first(struct model_version *v, struct piece *p)
{
    p->next = v->queue;
    v->queue = p;
    if (!p->next)
        v->queue_end = &p->next;
    v->queue_rows += p->n;
    v->queue_pieces++;
    p->q->waiting++;
}

static struct piece *queue_take(struct model_version *v, struct piece **at)
{
    struct piece *p = *at;

    *at = p->next;
    if (!p->next)
        v->queue_end = at;
    p->next = NULL;
    v->queue_rows -= p->n;
    v->queue_pieces--;
    p->q->waiting--;
    return p;
}

static int request_refuse(struct model_version *v, struct service_request *q,
                          int status, const char *why)
{
    rows_request_fail(q, status, "%s", why);
    service_counts_answer(v->counts, q);
    return status;
}

int model_version_submit(struct model_version *v, struct service_request *q, double now)
{
    struct piece *p;

    q->since = now;
    if (model_version_workers(v) == 0) {
        q->version_ended = v->is_retired;
        return request_refuse(v, q, 503, "no worker is ready; try again in a moment");
    }
    if (v->queue_pieces >= v->limits.queue)
        return request_refuse(v, q, 429,
                              "too many requests are waiting; try again in a moment");
    if (rows_request_begin(q, v->model.outputs, v->model.n_outputs) < 0)
        return request_refuse(v, q, q->status, "");
    p = calloc(1, sizeof *p);
    if (!p)
        return request_refuse(v, q, 503, "out of memory");
    p->q = q;
    p->n = q->rows;
    queue_add(v, p);
    return 0;
}

/* Finish a request that has an answer, once no batch has rows of it any more. */
static void finish_if_complete(struct model_version *v, struct service_request *q,
                               double now, struct rows_request_list *done)
{
    if (q->under_way > 0 || q->waiting > 0)
        return;
    if (q->status == 0)
        rows_request_complete(q);
    q->seconds = now - q->since;
    service_counts_answer(v->counts, q);
    rows_request_list_add(done, q);
}

/* ---- Batches that go out ---- */

/* Cut off the first rows, as many as there is room for. The rest of the piece stays.
 * NULL: no memory. */
static struct piece *piece_cut(struct model_version *v, uint64_t room)
{
    struct piece *head = v->queue, *p;

    if (head->n <= room)
        return queue_take(v, &v->queue);
    p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = *head;
    p->n = room;
    p->next = NULL;
    head->first += room;
    head->n -= room;
    v->queue_rows -= room;
    return p;
}

/* Take pieces from the queue. A piece that must be alone is the only one. */
static void batch_fill(struct model_version *v, struct rows_batch *b)
{
    struct piece **end = &b->pieces;

    while (v->queue && b->rows < v->limits.batch) {
        bool alone = v->queue->alone;
        struct piece *p;

        if (alone && b->pieces)
            return;
        p = piece_cut(v, v->limits.batch - b->rows);
        if (!p)
            return;
        *end = p;
        end = &p->next;
        b->rows += p->n;
        p->q->under_way++;
        if (alone)
            return;
    }
}

static void pieces_fail(struct model_version *v, struct rows_batch *b, int status,
                        const char *why, double now, struct rows_request_list *done);

/* *out is NULL if its requests have got another answer. -1: there is no memory now. */
static int batch_make(struct model_version *v, double now,
                      struct rows_request_list *done, struct rows_batch **out)
{
    struct rows_batch *b = calloc(1, sizeof *b);
    struct error err;

    if (b)
        batch_fill(v, b);
    if (!b || !b->pieces) {
        free(b);
        return -1;
    }
    b->id = ++v->next_id;
    *out = b;
    if (rows_batch_pack(b, v->model.inputs, v->model.n_inputs, &err) < 0) {
        pieces_fail(v, b, err.code == RAYTRAIN_EFIT ? 413 : 503, err.text, now, done);
        rows_batch_destroy(b);
        *out = NULL;
    }
    return 0;
}

/* A worker that has nothing to do, or one that would otherwise have to wait for its
 * next batch. The latter only gets a full batch, since rows that arrive later could
 * still join a batch that is not full. */
static struct worker_link *worker_choose(const struct model_version *v, bool is_full)
{
    struct worker_link *second = NULL;

    for (struct worker_link *w = v->workers; w; w = w->next) {
        if (w->is_lost)
            continue;
        if (w->n == 0)
            return w;
        if (w->n < LINK_DEPTH && !second)
            second = w;
    }
    return is_full ? second : NULL;
}

static double batch_due(const struct model_version *v)
{
    return v->queue->q->since + v->limits.wait_s;
}

void model_version_dispatch(struct model_version *v, double now,
                            struct rows_request_list *done)
{
    while (v->queue) {
        bool is_full = v->queue_rows >= v->limits.batch;
        struct worker_link *w = worker_choose(v, is_full);
        struct rows_batch *b;

        if (!w || (!is_full && !v->queue->alone && now < batch_due(v)))
            return;
        if (batch_make(v, now, done, &b) < 0)
            return;
        if (!b)
            continue;
        service_counts_batch(v->counts, b->rows);
        if (worker_link_send(w, b, NULL) < 0) {
            /* The thread of the service sees the end of the connection, and
             * handles it. */
            w->is_lost = true;
            shutdown(w->fd, SHUT_RDWR);
        }
    }
}

double model_version_next(const struct model_version *v)
{
    return v->queue && worker_choose(v, false) ? batch_due(v) : -1;
}

/* ---- Answers that come in ---- */

/* The next piece of a batch, which the caller owns. NULL: there are no more. */
static struct piece *piece_pop(struct rows_batch *b)
{
    struct piece *p = b->pieces;

    if (p) {
        b->pieces = p->next;
        p->next = NULL;
    }
    return p;
}

static void pieces_finish(struct model_version *v, struct rows_batch *b, double now,
                          struct rows_request_list *done)
{
    struct piece *p;

    while ((p = piece_pop(b))) {
        if (p->q) {
            p->q->under_way--;
            p->q->batch_rows = b->rows;
            finish_if_complete(v, p->q, now, done);
        }
        free(p);
    }
}

/* Remove from the queue the pieces of a request that still wait. */
static void queue_forget(struct model_version *v, const struct service_request *q)
{
    struct piece **at = &v->queue;

    while (*at) {
        if ((*at)->q == q)
            free(queue_take(v, at));
        else
            at = &(*at)->next;
    }
}

static void pieces_fail(struct model_version *v, struct rows_batch *b, int status,
                        const char *why, double now, struct rows_request_list *done)
{
    for (struct piece *p = b->pieces; p; p = p->next)
        if (p->q) {
            rows_request_fail(p->q, status, "%s", why);
            queue_forget(v, p->q);
        }
    pieces_finish(v, b, now, done);
}

/* Put the pieces back at the head of the queue, each to be tried alone. Those that were
 * alone already get this answer. */
static void pieces_try_again(struct model_version *v, struct rows_batch *b, int status,
                             const char *why, double now,
                             struct rows_request_list *done)
{
    struct piece *again = NULL, *p;

    while ((p = piece_pop(b))) {
        if (p->q && !p->alone && p->q->status == 0) {
            p->next = again;
            again = p;
            continue;
        }
        if (p->q) {
            p->q->under_way--;
            rows_request_fail(p->q, status, "%s", why);
            queue_forget(v, p->q);
            finish_if_complete(v, p->q, now, done);
        }
        free(p);
    }
    while ((p = again)) {
        again = p->next;
        p->q->under_way--;
        p->alone = true;
        v->counts->retries++;
        queue_put_first(v, p);
    }
}

/* The predictor has refused a batch. Only if it has a single request is it known which
 * one is at fault. */
static void batch_failed(struct model_version *v, struct rows_batch *b,
                         const struct service_reader *in, double now,
                         struct rows_request_list *done)
{
    bool of_rows =
        in->header.rows == RAYTRAIN_EINVAL || in->header.rows == RAYTRAIN_ETYPE;
    bool one = b->pieces && !b->pieces->next;
    char why[REQUEST_TEXT_MAX] = "";
    size_t at =
        one && b->pieces->first > 0
            ? (size_t)snprintf(why, sizeof why, "in its rows from %" PRIu64 " on, ",
                               b->pieces->first)
            : 0;
    size_t n =
        in->header.bytes < sizeof why - 1 - at ? in->header.bytes : sizeof why - 1 - at;

    if (n > 0)
        memcpy(why + at, in->payload, n);
    why[at + n] = '\0';
    if (one)
        pieces_fail(v, b, of_rows ? 400 : 500, why, now, done);
    else
        pieces_try_again(v, b, of_rows ? 400 : 500, why, now, done);
}

int model_version_message(struct model_version *v, struct worker_link *w, double now,
                          struct rows_request_list *done, struct error *err)
{
    const struct service_header *h = &w->in.header;
    struct rows_batch *b = w->n > 0 && w->sent > 0 ? w->batches[0] : NULL;

    if (!b || h->id != b->id ||
        (h->kind != SERVICE_RESULT && h->kind != SERVICE_FAILED))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "it sent an answer that was not asked for");
    if (h->kind == SERVICE_RESULT &&
        rows_batch_answer(b, v->model.outputs, v->model.n_outputs, h->rows,
                          w->in.payload, h->bytes, err) < 0)
        return -1;
    worker_link_take(w);
    if (h->kind == SERVICE_RESULT)
        pieces_finish(v, b, now, done);
    else
        batch_failed(v, b, &w->in, now, done);
    rows_batch_destroy(b);
    return 0;
}

/* ---- Workers that are lost ---- */

static void unlink_worker(struct model_version *v, const struct worker_link *w)
{
    struct worker_link **at = &v->workers;

    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

/* The oldest batch must end up at the head of the queue, so put the newest back
 * first. */
void model_version_lose_worker(struct model_version *v, struct worker_link *w,
                               double now, struct rows_request_list *done)
{
    w->is_lost = true;
    unlink_worker(v, w);
    while (w->n > 0) {
        struct rows_batch *b = w->batches[--w->n];

        pieces_try_again(v, b, 503,
                         "two workers have ended while they predicted these rows", now,
                         done);
        rows_batch_destroy(b);
    }
    if (model_version_workers(v) == 0 && v->is_retired)
        model_version_give_up(v, "this version of the model has ended; try again", now,
                              done);
}

/* ---- Requests that are given up ---- */

/* Give up a request, even if it is in a batch whose answer may still arrive. */
static void abandon(struct model_version *v, struct service_request *q, double now,
                    struct rows_request_list *done)
{
    queue_forget(v, q);
    for (struct worker_link *w = v->workers; w; w = w->next)
        for (size_t i = 0; i < w->n; i++)
            for (struct piece *p = w->batches[i]->pieces; p; p = p->next)
                if (p->q == q)
                    p->q = NULL;
    q->under_way = 0;
    finish_if_complete(v, q, now, done);
}

/* A request that began before the time `before`. */
static struct service_request *request_older(const struct model_version *v,
                                             double before)
{
    for (const struct piece *p = v->queue; p; p = p->next)
        if (p->q->since <= before)
            return p->q;
    for (const struct worker_link *w = v->workers; w; w = w->next)
        for (size_t i = 0; i < w->n; i++)
            for (const struct piece *p = w->batches[i]->pieces; p; p = p->next)
                if (p->q && p->q->since <= before)
                    return p->q;
    return NULL;
}

void model_version_expire(struct model_version *v, double now,
                          struct rows_request_list *done)
{
    struct service_request *q;

    while ((q = request_older(v, now - v->limits.answer_s))) {
        rows_request_fail(q, 503, "no worker has answered in %g s", v->limits.answer_s);
        abandon(v, q, now, done);
    }
}

void model_version_give_up(struct model_version *v, const char *why, double now,
                           struct rows_request_list *done)
{
    struct service_request *q;

    while ((q = request_older(v, HUGE_VAL))) {
        q->version_ended = v->is_retired;
        rows_request_fail(q, 503, "%s", why);
        abandon(v, q, now, done);
    }
}
