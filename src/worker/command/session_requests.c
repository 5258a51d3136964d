/* session_requests.c - the requests hello and report, and calls without large data. */
#include "command/session_requests.h"

#include "command/checkpoint_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "rank/event.h"
#include "session/collectives.h"
#include "session/preemption.h"
#include "session/reports.h"
#include "session/setting_notes.h"
#include "util/quote.h"
#include "util/report_number.h"

/* ---- hello: the place of this worker, and its settings ---- */

static json_t *args_json(const raytrain_context *ctx)
{
    json_t *list = json_array();

    for (int i = 0; list && i < ctx->env.argc; i++)
        if (json_array_append_new(list, json_text(ctx->env.argv[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static int state_reply(raytrain_context *ctx, struct reply *reply, struct error *err)
{
    json_t *state =
        json_pack("{sI sb sb}", "iteration", (json_int_t)ctx->iteration, "should_stop",
                  ctx->should_stop, "should_checkpoint", ctx->schedule.due);
    int rc = state ? json_object_update(reply->json, state) : -1;

    json_decref(state);
    return rc == 0 ? 0 : error_set(err, RAYTRAIN_ENOMEM, "no memory for a reply");
}

static json_t *datasets_json(const raytrain_context *ctx)
{
    const struct train_config *cfg = ctx->env.config;
    json_t *names = json_array();

    for (size_t i = 0; i < cfg->n_datasets; i++)
        json_array_append_new(names, json_text(cfg->datasets[i].name));
    return names;
}

json_t *session_facts(const raytrain_context *ctx)
{
    const struct world *w = ctx->env.world;

    return json_pack(
        "{sisi si si si si si ss ss ss si sb sb so so sO}", "rank", w->rank,
        "world_size", w->size, "local_rank", w->local_rank, "local_world_size",
        w->local_size, "node_rank", w->node_rank, "nodes", w->n_nodes, "gpus",
        ctx->env.config->scaling_config.gpus_per_worker, "host", w->host, "run_name",
        ctx->env.config->run_config.name, "run_dir", ctx->env.run_dir, "attempt",
        ctx->env.attempt, "has_checkpoint", ctx->restored != NULL, "predicts",
        ctx->predictor != NULL, "args", args_json(ctx), "datasets", datasets_json(ctx),
        "config", ctx->env.config->train_loop_config);
}

static int handle_hello(struct companion *c, const struct request *q,
                        struct reply *reply, struct error *err)
{
    int64_t version;
    json_t *facts;
    int rc;

    if (request_integer(q, "version", &version, err) < 0)
        return -1;
    if (version != WIRE_VERSION)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "the client speaks version %lld of the session's protocol, "
                         "this worker %d: use the client of this installation",
                         (long long)version, WIRE_VERSION);
    setting_all_asked(c->ctx);
    facts = session_facts(c->ctx);
    rc = facts ? json_object_update(reply->json, facts) : -1;
    if (rc == 0)
        rc = json_object_set_new(
            reply->json, "exit_grace_s",
            json_integer(c->ctx->env.config->run_config.exit_grace_s));
    json_decref(facts);
    if (rc < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a reply");
    return state_reply(c->ctx, reply, err);
}

/* ---- report ---- */

/* Bytes of what rank 0 reports, as JSON. */
#define REPORTED_MAX (16 << 20)

struct metric_list {
    raytrain_metric *metrics;
    size_t n;
};

/* The names stay those of the request. */
static int metrics_read(const json_t *from, struct metric_list *list, struct error *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(from))
        return error_set(err, RAYTRAIN_EINVAL, "a report of the client has no metrics");
    list->metrics = calloc(json_object_size(from) + 1, sizeof *list->metrics);
    if (!list->metrics)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a report");
    json_object_foreach((json_t *)from, name, value)
    {
        double number = json_number_value(value);

        /* nan, inf and -inf, which JSON lacks */
        if (json_is_string(value))
            number = strtod(json_string_value(value), NULL);
        else if (!json_is_number(value))
            return error_set(err, RAYTRAIN_EINVAL, "metric \"%.80s\" is not a number",
                             name);
        list->metrics[list->n++] = (raytrain_metric){.name = name, .value = number};
    }
    return 0;
}

/* The text goes into a line of result.json as it is. */
static int reported_read(const json_t *from, const char **text, struct error *err)
{
    json_t *object;

    if (!from)
        return 0;
    *text = json_string_value(from);
    object = *text && !strchr(*text, '\n') ? json_loads(*text, 0, NULL) : NULL;
    if (!json_is_object(object) || strlen(*text) > REPORTED_MAX) {
        json_decref(object);
        return error_set(
            err, RAYTRAIN_EINVAL,
            "the text of a report is not a JSON object of at most %d bytes "
            "in one line",
            REPORTED_MAX);
    }
    json_decref(object);
    return 0;
}

/* Leave out the names that no column can have, with one warning for each. The client
 * also sends all that its script reports as one text, which keeps them. */
static void names_filter(struct companion *c, json_t *metrics)
{
    json_t *value;
    const char *name;
    struct error why;
    void *next;

    json_object_foreach_safe(metrics, next, name, value)
    {
        if (session_metric_name_check("report", name, &why) == 0)
            continue;
        if (!c->unlisted)
            c->unlisted = json_object();
        if (!json_object_get(c->unlisted, name) && c->ctx->env.world->rank == 0)
            event_add(c->ctx->env.log_dir, EVENT_WARNING,
                      "%.900s. It is kept for Result.metrics and in result.json only",
                      why.text);
        json_object_set_new(c->unlisted, name, json_true());
        json_object_del(metrics, name);
    }
}

struct client_report {
    struct companion *companion;
    const json_t *offer;
    const char *position;
};

static int report_checkpoint_make(void *arg, raytrain_checkpoint **out,
                                  struct error *err)
{
    const struct client_report *client = arg;

    return companion_checkpoint_make(client->companion, client->offer, client->position,
                                     out, err);
}

/* The other ranks wait for this one, also if its request is wrong: then it takes part
 * in the report as a rank whose call was refused. */
static int handle_report(struct companion *c, const struct request *q,
                         struct reply *reply, struct error *err)
{
    const json_t *offer = json_object_get(q->args, "checkpoint");
    const char *refused = json_string_value(json_object_get(q->args, "refused"));
    const json_t *asked = json_object_get(q->args, "asked");
    struct client_report client = {
        .companion = c,
        .offer = json_is_object(offer) ? offer : NULL,
        .position = json_string_value(json_object_get(q->args, "loaders"))};
    struct metric_list list = {0};
    struct error why;
    struct loose_report loose = {.has_checkpoint = client.offer != NULL,
                                 .asks_stop = request_flag(q, "asks_stop"),
                                 .gathers = request_flag(q, "gathers"),
                                 .make = report_checkpoint_make,
                                 .make_arg = &client};
    int rc;

    if (json_is_array(asked))
        setting_some_asked(c->ctx, asked);
    if (request_flag(q, "asks_checkpoint"))
        (void)raytrain_should_checkpoint(c->ctx);
    if (json_object_get(q->args, METRICS_REPORTED)) {
        names_filter(c, json_object_get(q->args, "metrics"));
        names_filter(c, json_object_get(q->args, "typed"));
    }
    if (!refused && metrics_read(json_object_get(q->args, "metrics"), &list, &why) < 0)
        refused = why.text;
    if (!refused && session_typed_take(c->ctx, "report",
                                       json_object_get(q->args, "typed"), &why) < 0)
        refused = why.text;
    if (!refused && reported_read(json_object_get(q->args, METRICS_REPORTED),
                                  &loose.reported, &why) < 0)
        refused = why.text;
    loose.refused = refused;
    loose.metrics = list.metrics;
    loose.n_metrics = refused ? 0 : list.n;
    rc = session_report_loose(c->ctx, &loose, err);
    free(list.metrics);
    if (rc < 0)
        return -1;
    c->client.leaving = loose.leave;
    if (reply_set(reply, "exit", json_boolean(loose.leave), err) < 0 ||
        reply_set(reply, "saved", json_boolean(loose.saved), err) < 0)
        return -1;
    return state_reply(c->ctx, reply, err);
}

/* ---- The others ---- */

static int call_result(struct companion *c, int status, struct error *err)
{
    if (status == RAYTRAIN_OK)
        return 0;
    return error_set(err, (raytrain_status)status, "%s", raytrain_last_error(c->ctx));
}

static int handle_barrier(struct companion *c, const struct request *q,
                          struct reply *reply, struct error *err)
{
    (void)q;
    (void)reply;
    return call_result(c, raytrain_barrier(c->ctx), err);
}

/* Send rank 0's data to all ranks. */
static int handle_broadcast(struct companion *c, const struct request *q,
                            struct reply *reply, struct error *err)
{
    raytrain_context *ctx = c->ctx;
    uint64_t n = q->n_data;

    if (call_result(c, raytrain_broadcast(ctx, &n, sizeof n, 0), err) < 0)
        return -1;
    reply->n_data = n;
    reply->data = calloc(n > 0 ? n : 1, 1);
    if (!reply->data)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", (size_t)n);
    if (raytrain_rank(ctx) == 0 && n > 0)
        memcpy(reply->data, q->data, n);
    return n > 0 ? call_result(c, raytrain_broadcast(ctx, reply->data, n, 0), err) : 0;
}

/* The largest data of a message that a client accepts. */
#define GATHERED_MAX ((size_t)64 << 20)

static int gathered_set(struct reply *reply, const size_t *sizes, int n,
                        struct error *err)
{
    json_t *all = json_array();

    for (int i = 0; i < n; i++) {
        json_array_append_new(all, json_integer((json_int_t)sizes[i]));
        reply->n_data += sizes[i];
    }
    if (reply->n_data > GATHERED_MAX) {
        json_decref(all);
        return error_set(
            err, RAYTRAIN_ENOTSUP,
            "the results of all workers have %zu bytes, and a message has at "
            "most %zu: return less at a time",
            reply->n_data, GATHERED_MAX);
    }
    return reply_set(reply, "sizes", all, err);
}

static void gather_say(const void *arg, char text[CALL_TEXT_MAX])
{
    (void)arg;
    strcpy(text, "returned the result of a function of a Backend");
}

/* Send the data of all ranks to rank 0, in the order of the ranks. */
static int handle_gather(struct companion *c, const struct request *q,
                         struct reply *reply, struct error *err)
{
    raytrain_context *ctx = c->ctx;
    const struct session_call call = {CALL_GATHER, gather_say, NULL};
    int size = ctx->comm->size, rc;
    size_t *sizes;
    void *all = NULL;

    if (size > 1) {
        collective_wait_begin(&ctx->waiting, "gather");
        if (session_match_arguments(ctx, &call, 0, err) < 0)
            return -1;
    }
    sizes = calloc((size_t)size, sizeof *sizes);
    rc = sizes ? 0 : error_no_memory(err);
    if (size > 1)
        rc = comm_agree(ctx->user, rc, err);
    if (rc == 0 && size > 1) {
        rc =
            ctx->user->ops->gatherv(ctx->user, q->data, q->n_data, &all, sizes, 0, err);
    } else if (rc == 0) {
        sizes[0] = q->n_data;
        all = malloc(q->n_data + 1);
        if (all)
            memcpy(all, q->data, q->n_data);
        else
            rc = error_set(err, RAYTRAIN_ENOMEM, "no memory for %zu bytes", q->n_data);
    }
    if (rc == 0)
        rc = gathered_set(reply, sizes, raytrain_rank(ctx) == 0 ? size : 0, err);
    free(sizes);
    reply->data = all;
    return rc;
}

/* No "info": the client keeps the previous one. */
static int handle_preemption(struct companion *c, const struct request *q,
                             struct reply *reply, struct error *err)
{
    const char *text;
    bool changed;
    json_t *info;

    (void)q;
    if (call_result(c, session_preemption(c->ctx, &text, &changed), err) < 0)
        return -1;
    if (!changed)
        return 0;
    info = json_loads(text, 0, NULL);
    return reply_set(reply, "info", info, err);
}

static int handle_checkpoint_wait(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    (void)q;
    (void)reply;
    return call_result(c, raytrain_checkpoint_wait(c->ctx), err);
}

/* Not collective: the client repeats it until its checkpoint is durable. */
static int handle_durable(struct companion *c, const struct request *q,
                          struct reply *reply, struct error *err)
{
    (void)q;
    if (saving_has_failed(c->ctx->saving))
        return error_set(err, RAYTRAIN_ESTORAGE,
                         "a checkpoint that was reported could not be saved; the next "
                         "report says why");
    return reply_set(reply, "iteration",
                     json_integer((json_int_t)raytrain_durable_iteration(c->ctx)), err);
}

static int handle_total(struct companion *c, const struct request *q,
                        struct reply *reply, struct error *err)
{
    int64_t iterations;

    (void)reply;
    if (request_integer(q, "iterations", &iterations, err) < 0)
        return -1;
    return call_result(c, raytrain_set_total(c->ctx, iterations), err);
}

static int handle_artifacts(struct companion *c, const struct request *q,
                            struct reply *reply, struct error *err)
{
    const char *dir = raytrain_artifacts_dir(c->ctx);

    (void)q;
    if (!dir)
        return call_result(c, raytrain_last_status(c->ctx), err);
    return reply_set(reply, "path", json_string(dir), err);
}

/* A warning of the client for the user. */
static int handle_warning(struct companion *c, const struct request *q,
                          struct reply *reply, struct error *err)
{
    const char *text;

    (void)reply;
    if (request_string(q, "text", &text, err) < 0)
        return -1;
    event_add(c->ctx->env.log_dir, EVENT_WARNING, "rank %d: %.900s",
              c->ctx->env.world->rank, text);
    return 0;
}

/* Make a text fit for a terminal: replace control characters except newline and tab,
 * also those of UTF-8 (C2 80 to C2 9F), and remove newlines at the end. */
static void text_tame(char *text)
{
    unsigned char *at = (unsigned char *)text;
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    for (; *at; at++) {
        bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;

        if (c1)
            at[1] = '?';
        if (c1 || (*at < ' ' && *at != '\n' && *at != '\t') || *at == 0x7f)
            *at = '?';
    }
}

/* An exception that the client did not catch ends it, but Python may first wait for
 * other threads. Start the timer after which it is killed. */
static void exit_expect(struct companion *c)
{
    const struct itimerspec grace = {.it_value.tv_sec =
                                         c->ctx->env.config->run_config.exit_grace_s};

    c->exiting = c->client.pid;
    if (c->exit_timer >= 0)
        (void)timerfd_settime(c->exit_timer, 0, &grace, NULL);
}

/* The exception that ends the client. */
static int handle_uncaught(struct companion *c, const struct request *q,
                           struct reply *reply, struct error *err)
{
    const char *text, *traceback;

    (void)reply;
    if (request_string(q, "text", &text, err) < 0 ||
        request_string(q, "traceback", &traceback, err) < 0)
        return -1;
    free(c->uncaught);
    free(c->traceback);
    c->uncaught_code =
        wire_code(json_string_value(json_object_get(q->args, "code"))); /* or EFAILED */
    c->uncaught = strdup(text);
    c->traceback = strdup(traceback);
    if (!c->uncaught || !c->traceback)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a message");
    text_tame(c->uncaught);
    text_tame(c->traceback);
    exit_expect(c);
    return 0;
}

static const struct request_row session_request_rows[] = {
    {"hello", handle_hello},
    {"report", handle_report},
    {"barrier", handle_barrier},
    {"broadcast", handle_broadcast},
    {"gather", handle_gather},
    {"preemption", handle_preemption},
    {"checkpoint_wait", handle_checkpoint_wait},
    {"durable", handle_durable},
    {"total", handle_total},
    {"artifacts", handle_artifacts},
    {"warning", handle_warning},
    {"uncaught", handle_uncaught},
    {NULL, NULL},
};

const struct request_family session_requests = {
    .rows = session_request_rows,
};
