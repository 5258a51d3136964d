/*
 * companion.c - the loop that serves a command's process: it sleeps until there is a
 * client, a request, a request to stop, or the process has ended. First the dispatch of
 * one request, then the clients, at the end the loop.
 */
#include "command/companion.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "rank/event.h"
#include "rank/stop.h"
#include "util/fault.h"
#include "util/quote.h"

static const struct request_family *const families[FAMILIES] = {
    [SESSION_FAMILY] = &session_requests,   [DATASET_FAMILY] = &dataset_requests,
    [GRADIENT_FAMILY] = &gradient_requests, [PREPROCESS_FAMILY] = &preprocess_requests,
    [PREDICT_FAMILY] = &predict_requests,   [CHECKPOINT_FAMILY] = &checkpoint_requests,
};

/* The families that a helper has, too. */
static const bool for_helper[FAMILIES] = {
    [CHECKPOINT_FAMILY] = true, [DATASET_FAMILY] = true, [PREPROCESS_FAMILY] = true};

/* ---- One request ---- */

static const struct request_row *request_row_find(const char *op, int *family)
{
    for (int f = 0; f < FAMILIES; f++)
        for (const struct request_row *row = families[f] ? families[f]->rows : NULL;
             row && row->op; row++)
            if (strcmp(row->op, op) == 0) {
                *family = f;
                return row;
            }
    return NULL;
}

/* Call each advance(). Returns the microseconds until the next time; -1: not needed. */
static long families_advance(struct companion *c)
{
    long next = -1;

    for (int f = 0; f < FAMILIES; f++) {
        long at = families[f] && families[f]->advance ? families[f]->advance(c) : -1;

        if (at >= 0 && (next < 0 || at < next))
            next = at;
    }
    return next;
}

static int request_handle(struct companion *c, const struct request *q,
                          struct reply *reply, struct error *err)
{
    const char *op;
    const struct request_row *row;
    int family;

    if (request_string(q, "op", &op, err) < 0)
        return -1;
    row = request_row_find(op, &family);
    if (!row)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "this version has no request '%.60s': are the client and "
                         "raytrain-run of one version?",
                         op);
    if (c->without_run && !for_helper[family])
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "the request '%s' is for workers, which raytrain-run starts",
                         op);
    return row->handle(c, q, reply, err);
}

static json_t *error_json(const struct error *err)
{
    return json_pack("{s{ss so}}", "error", "code", wire_code_name(err->code), "text",
                     json_text(err->text));
}

static void client_drop(struct companion *c);

/* Fails if the client is gone; the end of its process shows why. */
static int reply_send(struct companion *c, const struct reply *reply, struct error *err)
{
    if (!reply->json)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a reply");
    return wire_send(c->client.socket, reply->json, reply->data, reply->n_data,
                     reply->fds, reply->n_fds, err);
}

static void request_serve(struct companion *c, struct wire_message *message)
{
    struct request q = {.args = message->text,
                        .data = message->data,
                        .n_data = message->n_data,
                        .fds = message->fds,
                        .n_fds = message->n_fds};
    struct reply reply = {.json = json_object()};
    struct error err = {0};
    int rc;

    c->serving = true;
    (void)families_advance(c); /* count what the client did by itself */
    rc = request_handle(c, &q, &reply, &err);
    c->serving = false;
    c->refused[0] = '\0';
    if (rc < 0) {
        c->stopped = c->stopped || err.code == RAYTRAIN_ESTOPPED;
        strcpy(c->refused, err.text);
        json_decref(reply.json);
        free(reply.data);
        reply = (struct reply){.json = error_json(&err)};
    }
    if (c->client.socket >= 0 && !reply.none && reply_send(c, &reply, &err) < 0)
        client_drop(c);
    json_decref(reply.json);
    free(reply.data);
}

/* ---- Clients ---- */

static void client_drop(struct companion *c)
{
    const struct itimerspec never = {{0, 0}, {0, 0}};

    if (c->exit_timer >= 0)
        (void)timerfd_settime(c->exit_timer, 0, &never, NULL);
    for (int f = 0; f < FAMILIES; f++)
        if (families[f] && families[f]->close)
            families[f]->close(c);
    if (c->client.socket >= 0) {
        close(c->client.socket);
        (void)fault_point("companion.drop", c->ctx->env.world->rank);
    }
    c->client.socket = -1;
    c->client.pid = 0;
    atomic_store(&c->ctx->client, 0);
}

/* Another process of the command has the session. */
static void client_refuse(const struct companion *c, int socket)
{
    struct error err;
    json_t *json;

    error_set(
        &err, RAYTRAIN_EINVAL,
        "process %d of this worker has the session: only that process can call "
        "report() and the like; its children, such as the workers of a Pool or of a "
        "DataLoader, can call get_context(), and return their results to it",
        (int)c->client.pid);
    json = error_json(&err);
    if (json)
        (void)wire_send(socket, json, NULL, 0, NULL, 0, &err);
    json_decref(json);
    close(socket);
}

/* Does the peer belong to this user? The directory is private, but its mode may be
 * changed. */
static bool is_own(int socket, pid_t *pid)
{
    struct ucred peer = {0};
    socklen_t n = sizeof peer;

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        return false;
    *pid = peer.pid;
    return peer.uid == geteuid();
}

static void client_accept(struct companion *c)
{
    int socket = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
    pid_t pid = 0;

    if (socket < 0)
        return; /* the client has disconnected already */
    if (!is_own(socket, &pid)) {
        close(socket);
        return;
    }
    if (c->client.socket >= 0) {
        client_refuse(c, socket);
        return;
    }
    c->client.socket = socket;
    c->client.pid = pid;
    atomic_store(&c->ctx->client, pid);
    c->client.ever = true;
}

/* A socket that is closed with unread data resets the connection, and what was sent
 * last would be lost. */
static void rest_discard(int socket)
{
    char bytes[4096];

    for (int i = 0; i < 256; i++)
        if (recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            return;
}

/* Serve one message. Bytes that are not a message end the connection, since what
 * follows them cannot be parsed; the client gets the reason. */
static void client_read(struct companion *c)
{
    struct wire_message message;
    struct error err;
    int got = wire_receive(c->client.socket, &message, &err);

    if (got > 0) {
        request_serve(c, &message);
        wire_clear(&message);
        return;
    }
    if (got < 0) {
        json_t *json = error_json(&err);
        struct error ignored;

        event_add(c->ctx->env.log_dir, EVENT_WARNING,
                  "rank %d: %s; the connection of process %d was closed",
                  c->ctx->env.world->rank, err.text, (int)c->client.pid);
        if (json)
            (void)wire_send(c->client.socket, json, NULL, 0, NULL, 0, &ignored);
        json_decref(json);
        rest_discard(c->client.socket);
    }
    client_drop(c);
}

/* ---- Questions ---- */

/* Wait for the client, or for the end of its process. */
static int answer_await(struct companion *c, struct error *err)
{
    struct pollfd on[] = {{.fd = c->client.socket, .events = POLLIN},
                          {.fd = c->child.pidfd, .events = POLLIN}};

    for (;;) {
        int n = poll(on, 2, -1);

        if (n > 0 && on[0].revents)
            return 0;
        if (n > 0)
            return error_set(err, RAYTRAIN_EFAILED,
                             "the command ended while it was asked for data");
        if (n < 0 && errno != EINTR)
            return error_set(err, RAYTRAIN_EFAILED, "poll: %s", strerror(errno));
    }
}

int companion_ask(struct companion *c, json_t *question, const int fds[], int n_fds,
                  struct wire_message *answer, struct error *err)
{
    const char *op;
    int rc, got;

    if (!question)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a question");
    rc = c->client.socket < 0
             ? error_set(err, RAYTRAIN_EFAILED, "the client has disconnected")
             : wire_send(c->client.socket, question, NULL, 0, fds, n_fds, err);
    json_decref(question);
    if (rc < 0 || answer_await(c, err) < 0)
        return -1;
    got = wire_receive(c->client.socket, answer, err);
    if (got < 0)
        return -1;
    if (got == 0)
        return error_set(err, RAYTRAIN_EFAILED,
                         "the client has disconnected in the middle of a request");
    op = json_string_value(json_object_get(answer->text, "op"));
    if (op && strcmp(op, "answer") == 0)
        return 0;
    wire_clear(answer);
    return error_set(err, RAYTRAIN_EINVAL,
                     "the client has sent another request instead of an answer");
}

/* ---- The loop ---- */

enum waited_for { CHILD, STOP, LISTENER, CLIENT, DESCRIPTORS };

/* A command that has never connected learns of a stop only by a signal. */
static void stop_pass_on(struct companion *c)
{
    stop_clear_descriptor();
    if (!stop_requested() || c->client.ever || c->ctx->ended_on_request)
        return;
    c->ctx->ended_on_request = true;
    (void)child_signal(&c->child, SIGTERM,
                       NULL); /* on failure it ends with the grace period */
}

static int companion_wait(struct companion *c, struct pollfd on[DESCRIPTORS],
                          struct error *err)
{
    long us = families_advance(c);
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    on[CHILD] = (struct pollfd){.fd = c->child.pidfd, .events = POLLIN};
    on[STOP] = (struct pollfd){.fd = stop_descriptor(), .events = POLLIN};
    on[LISTENER] = (struct pollfd){.fd = c->listener, .events = POLLIN};
    on[CLIENT] = (struct pollfd){.fd = c->client.socket, .events = POLLIN};
    if (ppoll(on, DESCRIPTORS, us < 0 ? NULL : &t, NULL) >= 0)
        return 0;
    for (int i = 0; i < DESCRIPTORS; i++)
        on[i].revents = 0;
    if (errno == EINTR)
        return 0;
    return error_set(err, RAYTRAIN_EFAILED, "cannot wait for the command: %s",
                     strerror(errno));
}

/* What the client has sent is read before its end is noticed, since it may say why. */
int companion_serve(struct companion *c, int *wait_status, struct error *err)
{
    struct pollfd on[DESCRIPTORS];
    bool gone = false;

    while (!gone) {
        if (companion_wait(c, on, err) < 0)
            return -1;
        if (on[STOP].revents)
            stop_pass_on(c);
        if (on[CLIENT].revents)
            client_read(c);
        else if (on[LISTENER].revents)
            client_accept(c);
        else if (on[CHILD].revents &&
                 child_reap(&c->child, &gone, wait_status, err) < 0)
            return -1;
    }
    return 0;
}

void companion_serve_client(struct companion *c)
{
    while (c->client.socket >= 0)
        client_read(c);
}

void companion_close(struct companion *c)
{
    client_drop(c);
    child_clear(&c->child);
    json_decref(c->unlisted);
    c->unlisted = NULL;
    free(c->uncaught);
    free(c->traceback);
    c->uncaught = c->traceback = NULL;
}

/* ---- For handlers ---- */

static int member_wrong(const char *name, const char *what, struct error *err)
{
    return error_set(err, RAYTRAIN_EINVAL,
                     "a request of the client lacks \"%s\", or it is not %s", name,
                     what);
}

int request_string(const struct request *q, const char *name, const char **value,
                   struct error *err)
{
    *value = json_string_value(json_object_get(q->args, name));
    return *value ? 0 : member_wrong(name, "a string", err);
}

int request_integer(const struct request *q, const char *name, int64_t *value,
                    struct error *err)
{
    const json_t *at = json_object_get(q->args, name);

    if (!json_is_integer(at))
        return member_wrong(name, "an integer", err);
    *value = json_integer_value(at);
    return 0;
}

bool request_flag(const struct request *q, const char *name)
{
    return json_is_true(json_object_get(q->args, name));
}

int reply_set(struct reply *reply, const char *name, json_t *value, struct error *err)
{
    if (value && json_object_set_new(reply->json, name, value) == 0)
        return 0;
    return error_set(err, RAYTRAIN_ENOMEM, "no memory for a reply");
}
