/*
 * gradient_requests.c - averages the gradients of clients over all ranks, in memory
 * that both the client and its companion have mapped.
 *
 * The client opens memory of the same size on every rank. In each step it writes its
 * gradients there, a range at a time, and says which range is ready; ranges are reduced
 * in place, in this order, which is the same on every rank. At the end of the step it
 * waits for all of them, and reads the means. While the client computes, the companion
 * sleeps between its polls, to leave the core to it; while the client waits, the
 * companion polls without a pause at first.
 *
 * gradients_ready has no reply, so that it costs the client a single system call: its
 * errors are in the reply to gradients_wait.
 *
 * If all ranks are on one node and share the memory, the clients may average there
 * themselves (average/average.h): then they send a request in a step only when they
 * wait for long.
 */
#include "command/companion.h"

#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <xxhash.h>

#include "average/average_head.h"
#include "session/collectives.h"
#include "util/clock.h"
#include "util/installed.h"

#define RANGES_MAX                                                                     \
    65536 /* in a step; a client with more has never sent gradients_wait */

/* Before the client's memory: two numbers that show, at the end of a step, whether all
 * ranks have averaged the same ranges. */
#define CONTROL_BYTES 64
/* After these, the head by which clients average themselves. */
#define HEAD_BYTES AVERAGE_HEAD_BYTES
#define MEMORY_AT  (CONTROL_BYTES + HEAD_BYTES)

struct range {
    size_t at, n; /* n elements, from byte `at` on */
    enum comm_type type;
    enum comm_op op;
    struct comm_request *request;
    bool finished;
};

/* One memory. Invariant: all n ranges have been started, and those before `done` are
 * finished. */
struct averaging {
    struct averaging *next;
    int64_t id;
    struct comm *comm;
    char *data;
    size_t n_bytes;
    struct range *ranges; /* those of this step */
    size_t n, done, room;
    uint64_t hash;  /* of the places, sizes and types of all ranges */
    uint64_t steps; /* that the client has averaged itself; they count as calls */
    bool failed;
    struct error error; /* if failed */
};

struct averagings {
    struct averaging *list;
    int64_t opened;
    long nap_us; /* the length of the next nap; 0: nothing is in progress */
};

static struct averagings *averagings_of(struct companion *c)
{
    return c->state[GRADIENT_FAMILY];
}

static bool in_progress(const struct averaging *a)
{
    return a->done < a->n && !a->failed;
}

/* ---- Open ---- */

static void gradients_open_say(const void *arg, char text[CALL_TEXT_MAX])
{
    snprintf(text, CALL_TEXT_MAX, "opened memory for %lld bytes of gradients",
             (long long)*(const int64_t *)arg);
}

/* Until its requests are finished, the memory belongs to the MPI library. Other ranks
 * may have ended: then it is leaked. */
static void averaging_free(struct averaging *a)
{
    if (a->done == a->n)
        comm_free(a->comm);
    free(a->ranges);
    free(a);
}

/* COLLECTIVE: all ranks pass the same n_bytes. */
static int averaging_create(raytrain_context *ctx, int64_t n_bytes,
                            struct averaging **out, struct error *err)
{
    const struct session_call call = {CALL_GRADIENTS, gradients_open_say, &n_bytes};
    struct averaging *a;
    void *data;
    int rc;

    if (session_match_arguments(ctx, &call, (uint64_t)n_bytes << 1, err) < 0)
        return -1;
    if (n_bytes <= 0 || n_bytes > INT64_MAX / 4) /* the same on every rank */
        return error_set(err, RAYTRAIN_EINVAL, "%lld bytes of gradients",
                         (long long)n_bytes);
    a = calloc(1, sizeof *a);
    rc = a ? 0 : error_set(err, RAYTRAIN_ENOMEM, "no memory for gradients");
    if (comm_agree(ctx->comm, rc, err) < 0 ||
        ctx->comm->ops->dup(ctx->comm, &a->comm, err) < 0) {
        free(a);
        return -1;
    }
    a->n_bytes = (size_t)n_bytes;
    if (a->comm->ops->alloc(a->comm, COMM_HOST, MEMORY_AT + a->n_bytes, &data, err) <
        0) {
        averaging_free(a);
        return -1;
    }
    a->data = data;
    *out = a;
    return 0;
}

static int averagings_make(struct companion *c, struct error *err)
{
    if (!averagings_of(c))
        c->state[GRADIENT_FAMILY] = calloc(1, sizeof(struct averagings));
    return averagings_of(c)
               ? 0
               : error_set(err, RAYTRAIN_ENOMEM, "no memory for gradients");
}

/* For a client that averages itself: the members of struct average_place. */
static json_t *open_average(const struct averaging *a, const struct comm_file *file)
{
    size_t head = file->offset + CONTROL_BYTES;
    char library[PATH_MAX];
    struct error err;

    if (installed_program("raytrain-average.so", library, sizeof library, &err) < 0)
        library[0] = '\0'; /* gradients_agree tells the other ranks */
    return json_pack("{s:s, s:I, s:I, s:i, s:i}", "library", library, "first",
                     (json_int_t)(head - file->stride * (size_t)a->comm->rank),
                     "stride", (json_int_t)file->stride, "rank", a->comm->rank, "size",
                     a->comm->size);
}

static int open_reply(struct averaging *a, struct reply *reply, struct error *err)
{
    struct comm_file file;

    if (a->comm->ops->memory_file(a->comm, a->data, &file, err) < 0 ||
        reply_set(reply, "id", json_integer(a->id), err) < 0 ||
        reply_set(reply, "offset", json_integer((json_int_t)(file.offset + MEMORY_AT)),
                  err) < 0 ||
        (file.stride > 0 &&
         reply_set(reply, "average", open_average(a, &file), err) < 0))
        return -1;
    reply->fds[0] = file.fd;
    reply->n_fds = 1;
    return 0;
}

/* COLLECTIVE. {"bytes"} -> {"id", "offset"}, and the descriptor of a file in which this
 * client's memory begins at `offset`. If the file has the memory of all ranks, also
 * "average": then the client sends gradients_agree next. */
static int handle_gradients_open(struct companion *c, const struct request *q,
                                 struct reply *reply, struct error *err)
{
    struct averagings *all;
    struct averaging *a = NULL;
    int64_t n_bytes;

    if (request_integer(q, "bytes", &n_bytes, err) < 0 || averagings_make(c, err) < 0 ||
        averaging_create(c->ctx, n_bytes, &a, err) < 0)
        return -1;
    all = averagings_of(c);
    a->id = all->opened++;
    a->next = all->list;
    all->list = a;
    /* The default would make each nap longer by 50 microseconds. */
    (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    return open_reply(a, reply, err);
}

static int averaging_find(struct companion *c, const struct request *q,
                          struct averaging **out, struct error *err)
{
    struct averagings *all = averagings_of(c);
    int64_t id;

    if (request_integer(q, "id", &id, err) < 0)
        return -1;
    for (*out = all ? all->list : NULL; *out; *out = (*out)->next)
        if ((*out)->id == id)
            return 0;
    return error_set(err, RAYTRAIN_EINVAL, "gradients %lld were never opened",
                     (long long)id);
}

static void gradients_agree_say(const void *arg, char text[CALL_TEXT_MAX])
{
    (void)arg;
    snprintf(text, CALL_TEXT_MAX, "opened memory for gradients");
}

/* COLLECTIVE. {"id", "able"} -> {"all"}: are all clients able to average themselves? */
static int handle_gradients_agree(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    const struct session_call call = {CALL_GRADIENTS, gradients_agree_say, NULL};
    int64_t able = json_is_true(json_object_get(q->args, "able"));
    struct comm *comm = c->ctx->comm;
    struct averaging *a;

    if (averaging_find(c, q, &a, err) < 0 ||
        session_match_arguments(c->ctx, &call, 1, err) < 0 ||
        comm->ops->allreduce(comm, &able, 1, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    return reply_set(reply, "all", json_boolean(able == 1), err);
}

/* {"id"}: the client no longer uses this memory. Not collective. */
static int handle_gradients_close(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    struct averaging *a;

    (void)reply;
    if (averaging_find(c, q, &a, err) < 0)
        return -1;
    for (struct averaging **at = &averagings_of(c)->list; *at; at = &(*at)->next)
        if (*at == a) {
            *at = a->next;
            break;
        }
    averaging_free(a);
    return 0;
}

/* ---- Ranges ---- */

static int range_check(const struct averaging *a, int64_t at, int64_t n,
                       const char *type_name, struct range *out, struct error *err)
{
    bool wide = type_name && strcmp(type_name, "float64") == 0;
    uint64_t bytes;

    if (!wide && (!type_name || strcmp(type_name, "float32") != 0))
        return error_set(
            err, RAYTRAIN_EINVAL,
            "gradients of type %.40s: only float32 and float64 are averaged",
            type_name ? type_name : "none");
    *out = (struct range){.op = COMM_MEAN, .type = wide ? COMM_FLOAT64 : COMM_FLOAT32};
    if (at < 0 || n < 0 || (uint64_t)at > a->n_bytes || at % 8 != 0 ||
        __builtin_mul_overflow((uint64_t)n, comm_type_size(out->type), &bytes) ||
        bytes > a->n_bytes - (uint64_t)at)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%lld gradients at byte %lld are not in memory for %zu bytes",
                         (long long)n, (long long)at, a->n_bytes);
    out->at = MEMORY_AT + (size_t)at;
    out->n = (size_t)n;
    return 0;
}

static int range_start(struct averaging *a, const struct range *range,
                       struct error *err)
{
    struct range *r;

    if (a->n == a->room) {
        size_t room = a->room ? 2 * a->room : 16;
        struct range *more =
            room > RANGES_MAX ? NULL : realloc(a->ranges, room * sizeof *more);

        if (!more)
            return error_set(err, RAYTRAIN_ENOMEM,
                             "no memory for the gradients of one step");
        a->ranges = more;
        a->room = room;
    }
    r = &a->ranges[a->n];
    *r = *range;
    r->finished = r->n == 0;
    if (!r->finished &&
        a->comm->ops->iallreduce(a->comm, COMM_HOST, a->data + r->at, r->n, r->type,
                                 r->op, &r->request, err) < 0)
        return -1;
    a->n++;
    return 0;
}

static int range_add(struct averaging *a, const json_t *from, struct error *err)
{
    uint64_t face[3];
    struct range range;

    if (range_check(a, json_integer_value(json_array_get(from, 0)),
                    json_integer_value(json_array_get(from, 1)),
                    json_string_value(json_array_get(from, 2)), &range, err) < 0)
        return -1;
    face[0] = range.at;
    face[1] = range.n;
    face[2] = range.type;
    a->hash = XXH3_64bits_withSeed(face, sizeof face, a->hash);
    return range_start(a, &range, err);
}

static int averaging_fail(struct averaging *a, const struct error *err)
{
    a->failed = true;
    a->error = *err;
    return -1;
}

/* Start the reductions of "ranges": [[BYTE, ELEMENTS, TYPE], ...] */
static int ranges_add(struct companion *c, struct averaging *a, const struct request *q,
                      struct error *err)
{
    const json_t *list = json_object_get(q->args, "ranges");

    if (a->failed) {
        *err = a->error;
        return -1;
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        if (range_add(a, json_array_get(list, i), err) < 0)
            return averaging_fail(a, err);
    averagings_of(c)->nap_us = 0;
    return 0;
}

static int ranges_poll(struct averaging *a, struct error *err)
{
    for (size_t i = a->done; i < a->n; i++) {
        struct range *r = &a->ranges[i];

        if (!r->finished &&
            a->comm->ops->test(a->comm, &r->request, &r->finished, err) < 0)
            return averaging_fail(a, err);
    }
    while (a->done < a->n && a->ranges[a->done].finished)
        a->done++;
    return 0;
}

/* {"id", "ranges"}: these are ready. Without a reply, so it never fails. */
static int handle_gradients_ready(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    struct averaging *a;

    reply->none = true;
    if (averaging_find(c, q, &a, err) == 0)
        (void)ranges_add(c, a, q, err);
    return 0;
}

/* ---- The client computes ---- */

#define NAP_US     50 /* the first nap; each one is half as long again as the last */
#define NAP_US_MAX 1000

/* Count the steps that the client has averaged itself as calls, like those of the
 * companion. One for which the client waits is already in `steps`. */
static void own_steps_count(struct companion *c, struct averaging *a)
{
    struct average_head *head = (void *)(a->data + CONTROL_BYTES);
    uint64_t steps = atomic_load(&head->steps);

    if (steps <= a->steps)
        return;
    c->ctx->waiting.calls += (int64_t)(steps - a->steps);
    a->steps = steps;
}

static long gradients_advance(struct companion *c)
{
    struct averagings *all = averagings_of(c);
    bool busy = false;

    for (struct averaging *a = all ? all->list : NULL; a; a = a->next) {
        struct error err;

        own_steps_count(c, a);
        if (!in_progress(a))
            continue;
        (void)ranges_poll(a, &err); /* the next gradients_wait returns the error */
        busy = busy || in_progress(a);
    }
    if (!busy)
        return -1;
    all->nap_us = all->nap_us ? all->nap_us + all->nap_us / 2 : NAP_US;
    all->nap_us = all->nap_us < NAP_US_MAX ? all->nap_us : NAP_US_MAX;
    return all->nap_us;
}

/* ---- The client waits ---- */

#define EAGER_S 0.001 /* after this time, a wait naps between polls */

static bool child_ended(const struct companion *c)
{
    struct pollfd on = {.fd = c->child.pidfd, .events = POLLIN};

    return poll(&on, 1, 0) > 0;
}

/* Fails if the command has ended; about once a second, also if other ranks have. */
static int wait_check(struct companion *c, double waited, double *checked,
                      struct error *err)
{
    if (child_ended(c))
        return error_set(err, RAYTRAIN_EFAILED,
                         "the command ended while its gradients were averaged");
    if (waited < *checked + 1)
        return 0;
    *checked = waited;
    collective_wait_hook(&c->ctx->waiting, waited);
    return collective_wait_check(&c->ctx->waiting, waited, err);
}

static int ranges_wait(struct companion *c, struct averaging *a, struct error *err)
{
    double begun = clock_now(), checked = 0;

    for (unsigned polls = 0;; polls++) {
        double waited;

        if (ranges_poll(a, err) < 0)
            return -1;
        if (a->done == a->n)
            return 0;
        if (polls < a->comm->polls)
            continue;
        waited = clock_now() - begun;
        if (waited < EAGER_S) {
            sched_yield();
            continue;
        }
        nanosleep(&(struct timespec){.tv_nsec = NAP_US * 1000}, NULL);
        if (wait_check(c, waited, &checked, err) < 0)
            return averaging_fail(a, err);
    }
}

/* Start the last reduction of a step, which compares the hashes of all ranks. */
static int control_start(struct averaging *a, struct error *err)
{
    const struct range control = {.at = 0, .n = 2, .type = COMM_INT64, .op = COMM_MAX};
    int64_t lanes[2] = {(int64_t)(a->hash >> 1), -(int64_t)(a->hash >> 1)};

    memcpy(a->data, lanes, sizeof lanes);
    return range_start(a, &control, err) < 0 ? averaging_fail(a, err) : 0;
}

static int control_check(struct averaging *a, struct error *err)
{
    int64_t lanes[2];

    memcpy(lanes, a->data, sizeof lanes);
    if (lanes[0] == -lanes[1])
        return 0;
    error_set(err, RAYTRAIN_ECOMM,
              "the workers do not agree: they average gradients of other sizes, or in "
              "another order. Is the model the same on every worker?");
    return averaging_fail(a, err);
}

/* COLLECTIVE. {"id", "ranges"}: these are ready, too, and the last ones of this step.
 * The reply is sent when all means are there. */
static int handle_gradients_wait(struct companion *c, const struct request *q,
                                 struct reply *reply, struct error *err)
{
    struct averaging *a;

    (void)reply;
    if (averaging_find(c, q, &a, err) < 0 || ranges_add(c, a, q, err) < 0)
        return -1;
    collective_wait_begin(&c->ctx->waiting, "gradient averaging");
    if (control_start(a, err) < 0 || ranges_wait(c, a, err) < 0 ||
        control_check(a, err) < 0)
        return -1;
    a->n = a->done = 0;
    a->hash = 0;
    return 0;
}

/* {"id", "seconds"}: the client, which averages itself, has waited this long in a step;
 * 0 when it begins to wait. Fails if other ranks have failed. */
static int handle_gradients_waiting(struct companion *c, const struct request *q,
                                    struct reply *reply, struct error *err)
{
    double seconds = json_number_value(json_object_get(q->args, "seconds"));
    struct averaging *a;

    (void)reply;
    if (averaging_find(c, q, &a, err) < 0)
        return -1;
    if (seconds <= 0) {
        collective_wait_begin(&c->ctx->waiting, "gradient averaging");
        a->steps++;
    }
    collective_wait_hook(&c->ctx->waiting, seconds);
    return collective_wait_check(&c->ctx->waiting, seconds, err);
}

/* ---- The family ---- */

static void gradients_clear(struct companion *c)
{
    struct averagings *all = averagings_of(c);

    while (all && all->list) {
        struct averaging *a = all->list;

        all->list = a->next;
        averaging_free(a);
    }
    free(all);
    c->state[GRADIENT_FAMILY] = NULL;
}

static const struct request_row gradient_request_rows[] = {
    {"gradients_open", handle_gradients_open},
    {"gradients_agree", handle_gradients_agree},
    {"gradients_close", handle_gradients_close},
    {"gradients_ready", handle_gradients_ready},
    {"gradients_wait", handle_gradients_wait},
    {"gradients_waiting", handle_gradients_waiting},
    {NULL, NULL},
};

const struct request_family gradient_requests = {
    .rows = gradient_request_rows,
    .close = gradients_clear,
    .advance = gradients_advance,
};
