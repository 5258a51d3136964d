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

int edition_create(struct service_hello *hello, const struct edition_limits *limits,
                   struct service_counts *counts, struct edition **out,
                   struct error *err)
{
    struct edition *e = calloc(1, sizeof *e);

    if (!e)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a model");
    e->model = *hello;
    *hello = (struct service_hello){0};
    e->limits = *limits;
    if (e->limits.batch == 0)
        e->limits.batch = e->model.batch > 0 ? e->model.batch : DEFAULT_BATCH;
    e->counts = counts;
    e->queue_end = &e->queue;
    *out = e;
    return 0;
}

void edition_destroy(struct edition *e)
{
    if (!e)
        return;
    if (e->free_attached)
        e->free_attached(e->attached);
    service_hello_clear(&e->model);
    free(e);
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

int edition_check(const struct edition *e, const struct service_hello *hello,
                  struct error *err)
{
    if (version_columns_check("input", e->model.inputs, e->model.n_inputs,
                              hello->inputs, hello->n_inputs, err) < 0)
        return -1;
    return version_columns_check("output", e->model.outputs, e->model.n_outputs,
                                 hello->outputs, hello->n_outputs, err);
}

void edition_add_worker(struct edition *e, struct worker_link *w)
{
    w->edition = e;
    w->next = e->workers;
    e->workers = w;
}

size_t edition_workers(const struct edition *e)
{
    size_t n = 0;

    for (const struct worker_link *w = e->workers; w; w = w->next)
        n += !w->is_lost;
    return n;
}

bool edition_is_idle(const struct edition *e)
{
    for (const struct worker_link *w = e->workers; w; w = w->next)
        if (w->n > 0)
            return false;
    return !e->queue;
}

/* ---- The queue ---- */

static void queue_add(struct edition *e, struct piece *p)
{
    p->next = NULL;
    *e->queue_end = p;
    e->queue_end = &p->next;
    e->queue_rows += p->n;
    e->queue_pieces++;
    p->q->waiting++;
}

static void queue_put_first(struct edition *e, struct piece *p)
{
    p->next = e->queue;
    e->queue = p;
    if (!p->next)
        e->queue_end = &p->next;
    e->queue_rows += p->n;
    e->queue_pieces++;
    p->q->waiting++;
}

static struct piece *queue_take(struct edition *e, struct piece **at)
{
    struct piece *p = *at;

    *at = p->next;
    if (!p->next)
        e->queue_end = at;
    p->next = NULL;
    e->queue_rows -= p->n;
    e->queue_pieces--;
    p->q->waiting--;
    return p;
}

static int request_refuse(struct edition *e, struct service_request *q, int status,
                          const char *why)
{
    rows_request_fail(q, status, "%s", why);
    service_counts_answer(e->counts, q);
    return status;
}

int edition_submit(struct edition *e, struct service_request *q, double now)
{
    struct piece *p;

    q->since = now;
    if (edition_workers(e) == 0) {
        q->version_ended = e->is_retired;
        return request_refuse(e, q, 503, "no worker is ready; try again in a moment");
    }
    if (e->queue_pieces >= e->limits.queue)
        return request_refuse(e, q, 429,
                              "too many requests are waiting; try again in a moment");
    if (rows_request_begin(q, e->model.outputs, e->model.n_outputs) < 0)
        return request_refuse(e, q, q->status, "");
    p = calloc(1, sizeof *p);
    if (!p)
        return request_refuse(e, q, 503, "out of memory");
    p->q = q;
    p->n = q->rows;
    queue_add(e, p);
    return 0;
}

/* Finish a request that has an answer, once no batch has rows of it any more. */
static void finish_if_complete(struct edition *e, struct service_request *q, double now,
                               struct rows_request_list *done)
{
    if (q->under_way > 0 || q->waiting > 0)
        return;
    if (q->status == 0)
        rows_request_complete(q);
    q->seconds = now - q->since;
    service_counts_answer(e->counts, q);
    rows_request_list_add(done, q);
}

/* ---- Batches that go out ---- */

/* Cut off the first rows, as many as there is room for. The rest of the piece stays.
 * NULL: no memory. */
static struct piece *piece_cut(struct edition *e, uint64_t room)
{
    struct piece *head = e->queue, *p;

    if (head->n <= room)
        return queue_take(e, &e->queue);
    p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = *head;
    p->n = room;
    p->next = NULL;
    head->first += room;
    head->n -= room;
    e->queue_rows -= room;
    return p;
}

/* Take pieces from the queue. A piece that must be alone is the only one. */
static void batch_fill(struct edition *e, struct rows_batch *b)
{
    struct piece **end = &b->pieces;

    while (e->queue && b->rows < e->limits.batch) {
        bool alone = e->queue->alone;
        struct piece *p;

        if (alone && b->pieces)
            return;
        p = piece_cut(e, e->limits.batch - b->rows);
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

static void pieces_fail(struct edition *e, struct rows_batch *b, int status,
                        const char *why, double now, struct rows_request_list *done);

/* *out is NULL if its requests have got another answer. -1: there is no memory now. */
static int batch_make(struct edition *e, double now, struct rows_request_list *done,
                      struct rows_batch **out)
{
    struct rows_batch *b = calloc(1, sizeof *b);
    struct error err;

    if (b)
        batch_fill(e, b);
    if (!b || !b->pieces) {
        free(b);
        return -1;
    }
    b->id = ++e->next_id;
    *out = b;
    if (rows_batch_pack(b, e->model.inputs, e->model.n_inputs, &err) < 0) {
        pieces_fail(e, b, err.code == RAYTRAIN_EFIT ? 413 : 503, err.text, now, done);
        rows_batch_destroy(b);
        *out = NULL;
    }
    return 0;
}

/* A worker that has nothing to do, or one that would otherwise have to wait for its
 * next batch. The latter only gets a full batch, since rows that arrive later could
 * still join a batch that is not full. */
static struct worker_link *worker_choose(const struct edition *e, bool is_full)
{
    struct worker_link *second = NULL;

    for (struct worker_link *w = e->workers; w; w = w->next) {
        if (w->is_lost)
            continue;
        if (w->n == 0)
            return w;
        if (w->n < LINK_DEPTH && !second)
            second = w;
    }
    return is_full ? second : NULL;
}

static double batch_due(const struct edition *e)
{
    return e->queue->q->since + e->limits.wait_s;
}

void edition_dispatch(struct edition *e, double now, struct rows_request_list *done)
{
    while (e->queue) {
        bool is_full = e->queue_rows >= e->limits.batch;
        struct worker_link *w = worker_choose(e, is_full);
        struct rows_batch *b;

        if (!w || (!is_full && !e->queue->alone && now < batch_due(e)))
            return;
        if (batch_make(e, now, done, &b) < 0)
            return;
        if (!b)
            continue;
        service_counts_batch(e->counts, b->rows);
        if (worker_link_send(w, b, NULL) < 0) {
            /* The thread of the service sees the end of the connection, and
             * handles it. */
            w->is_lost = true;
            shutdown(w->fd, SHUT_RDWR);
        }
    }
}

double edition_next(const struct edition *e)
{
    return e->queue && worker_choose(e, false) ? batch_due(e) : -1;
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

static void pieces_finish(struct edition *e, struct rows_batch *b, double now,
                          struct rows_request_list *done)
{
    struct piece *p;

    while ((p = piece_pop(b))) {
        if (p->q) {
            p->q->under_way--;
            p->q->batch_rows = b->rows;
            finish_if_complete(e, p->q, now, done);
        }
        free(p);
    }
}

/* Remove from the queue the pieces of a request that still wait. */
static void queue_forget(struct edition *e, const struct service_request *q)
{
    struct piece **at = &e->queue;

    while (*at) {
        if ((*at)->q == q)
            free(queue_take(e, at));
        else
            at = &(*at)->next;
    }
}

static void pieces_fail(struct edition *e, struct rows_batch *b, int status,
                        const char *why, double now, struct rows_request_list *done)
{
    for (struct piece *p = b->pieces; p; p = p->next)
        if (p->q) {
            rows_request_fail(p->q, status, "%s", why);
            queue_forget(e, p->q);
        }
    pieces_finish(e, b, now, done);
}

/* Put the pieces back at the head of the queue, each to be tried alone. Those that were
 * alone already get this answer. */
static void pieces_try_again(struct edition *e, struct rows_batch *b, int status,
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
            queue_forget(e, p->q);
            finish_if_complete(e, p->q, now, done);
        }
        free(p);
    }
    while ((p = again)) {
        again = p->next;
        p->q->under_way--;
        p->alone = true;
        e->counts->retries++;
        queue_put_first(e, p);
    }
}

/* The predictor has refused a batch. Only if it has a single request is it known which
 * one is at fault. */
static void batch_failed(struct edition *e, struct rows_batch *b,
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
        pieces_fail(e, b, of_rows ? 400 : 500, why, now, done);
    else
        pieces_try_again(e, b, of_rows ? 400 : 500, why, now, done);
}

int edition_message(struct edition *e, struct worker_link *w, double now,
                    struct rows_request_list *done, struct error *err)
{
    const struct service_header *h = &w->in.header;
    struct rows_batch *b = w->n > 0 && w->sent > 0 ? w->batches[0] : NULL;

    if (!b || h->id != b->id ||
        (h->kind != SERVICE_RESULT && h->kind != SERVICE_FAILED))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "it sent an answer that was not asked for");
    if (h->kind == SERVICE_RESULT &&
        rows_batch_answer(b, e->model.outputs, e->model.n_outputs, h->rows,
                          w->in.payload, h->bytes, err) < 0)
        return -1;
    worker_link_take(w);
    if (h->kind == SERVICE_RESULT)
        pieces_finish(e, b, now, done);
    else
        batch_failed(e, b, &w->in, now, done);
    rows_batch_destroy(b);
    return 0;
}

/* ---- Workers that are lost ---- */

static void unlink_worker(struct edition *e, const struct worker_link *w)
{
    struct worker_link **at = &e->workers;

    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

/* The oldest batch must end up at the head of the queue, so put the newest back
 * first. */
void edition_lose_worker(struct edition *e, struct worker_link *w, double now,
                         struct rows_request_list *done)
{
    w->is_lost = true;
    unlink_worker(e, w);
    while (w->n > 0) {
        struct rows_batch *b = w->batches[--w->n];

        pieces_try_again(e, b, 503,
                         "two workers have ended while they predicted these rows", now,
                         done);
        rows_batch_destroy(b);
    }
    if (edition_workers(e) == 0 && e->is_retired)
        edition_give_up(e, "this version of the model has ended; try again", now, done);
}

/* ---- Requests that are given up ---- */

/* Give up a request, even if it is in a batch whose answer may still arrive. */
static void abandon(struct edition *e, struct service_request *q, double now,
                    struct rows_request_list *done)
{
    queue_forget(e, q);
    for (struct worker_link *w = e->workers; w; w = w->next)
        for (size_t i = 0; i < w->n; i++)
            for (struct piece *p = w->batches[i]->pieces; p; p = p->next)
                if (p->q == q)
                    p->q = NULL;
    q->under_way = 0;
    finish_if_complete(e, q, now, done);
}

/* A request that began before the time `before`. */
static struct service_request *request_older(const struct edition *e, double before)
{
    for (const struct piece *p = e->queue; p; p = p->next)
        if (p->q->since <= before)
            return p->q;
    for (const struct worker_link *w = e->workers; w; w = w->next)
        for (size_t i = 0; i < w->n; i++)
            for (const struct piece *p = w->batches[i]->pieces; p; p = p->next)
                if (p->q && p->q->since <= before)
                    return p->q;
    return NULL;
}

void edition_expire(struct edition *e, double now, struct rows_request_list *done)
{
    struct service_request *q;

    while ((q = request_older(e, now - e->limits.answer_s))) {
        rows_request_fail(q, 503, "no worker has answered in %g s", e->limits.answer_s);
        abandon(e, q, now, done);
    }
}

void edition_give_up(struct edition *e, const char *why, double now,
                     struct rows_request_list *done)
{
    struct service_request *q;

    while ((q = request_older(e, HUGE_VAL))) {
        q->version_ended = e->is_retired;
        rows_request_fail(q, 503, "%s", why);
        abandon(e, q, now, done);
    }
}
