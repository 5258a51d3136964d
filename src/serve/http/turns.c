/*
 * turns.c - read a request and send its answer. Sections: answers, the header, the body,
 * and the turns of libmicrohttpd. route.c finds the function that answers.
 */
#include "http/turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/access_log.h"
#include "http/header_fault.h"
#include "http/host.h"
#include "http/route.h"
#include "http/token.h"
#include "util/clock.h"

#define BODY_STEP ((size_t)16 << 10)

/* ---- Answers ---- */

/* The response belongs to libmicrohttpd from now on. NULL: no memory. */
static struct MHD_Response *response_make(struct exchange *x)
{
    struct MHD_Response *r;

    if (x->fixed)
        return MHD_create_response_from_buffer(strlen(x->fixed), (void *)x->fixed,
                                               MHD_RESPMEM_PERSISTENT);
    r = MHD_create_response_from_buffer(x->answer.n_bytes, x->answer.bytes,
                                        MHD_RESPMEM_MUST_FREE);
    if (r)
        x->answer.bytes = NULL;
    return r;
}

static void headers_add(struct exchange *x, struct MHD_Response *r)
{
    char number[24];

    if (x->answer.content_type)
        MHD_add_response_header(r, "Content-Type", x->answer.content_type);
    if (x->answer.header_length > 0) {
        snprintf(number, sizeof number, "%zu", x->answer.header_length);
        MHD_add_response_header(r, "Inference-Header-Content-Length", number);
    }
    if (x->allow[0] != '\0')
        MHD_add_response_header(r, "Allow", x->allow);
    if (x->is_last)
        MHD_add_response_header(r, "Connection", "close");
    if (x->status == 429 || x->status == 503)
        MHD_add_response_header(r, "Retry-After", "1");
    if (x->status == 401)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cache-Control", "no-store");
}

/* Free the memory of the request before the client reads the answer. */
static void request_free(struct exchange *x)
{
    exchange_forget(x);
    free(x->body);
    x->body = NULL;
    atomic_fetch_sub(&x->front->bodies, x->room);
    x->room = 0;
}

static enum MHD_Result answer_send(struct exchange *x)
{
    uint64_t bytes = x->fixed ? 0 : x->answer.n_bytes;
    struct MHD_Response *r;
    enum MHD_Result rc;

    request_free(x);
    r = response_make(x);
    if (!r)
        return MHD_NO;
    headers_add(x, r);
    clients_reads(x->front->clients, x->client, bytes, clock_now());
    atomic_fetch_add(&x->front->answers[x->status], 1);
    rc = MHD_queue_response(x->connection, (unsigned)x->status, r);
    MHD_destroy_response(r);
    return rc;
}

/* ---- The header ---- */

static void encoding_check(struct exchange *x)
{
    const char *encoding = exchange_header(x, "Content-Encoding");

    if (encoding && strcasecmp(encoding, "identity") != 0)
        exchange_refuse(x, 415,
                        "the body has the Content-Encoding \"%s\"; send it as it is",
                        encoding);
}

static void too_large(struct exchange *x)
{
    exchange_refuse(x, 413,
                    "the body is larger than %llu bytes; send fewer rows at once",
                    (unsigned long long)x->front->o.limits.body);
}

/* libmicrohttpd has checked that it is a number. */
static void length_check(struct exchange *x)
{
    const char *length = exchange_header(x, "Content-Length");

    if (length && strtoull(length, NULL, 10) > x->front->o.limits.body)
        too_large(x);
}

static void route_refuse(struct exchange *x, int status)
{
    if (status == 404)
        exchange_refuse(x, 404,
                        "there is nothing at this path; GET /v2 is the server, "
                        "/v2/models/NAME a model");
    else if (status == 405)
        exchange_refuse(x, 405, "this path has other methods: %s", x->allow);
    else
        exchange_answer(x, status, status == 204 ? 0 : -1);
}

static bool has_token(struct exchange *x)
{
    const char *token = x->front->o.token;

    return !token || (x->route && x->route->is_open) ||
           token_is_in(exchange_header(x, "Authorization"), token);
}

/* Without a token, only the names in the request distinguish requests of a person from
 * those of a page of another site. */
static bool is_of_another_site(struct exchange *x)
{
    const char *host = exchange_header(x, "Host");

    if (x->front->o.token)
        return false;
    if (!host_is_ours(host, x->front->o.at))
        exchange_refuse(x, 421,
                        "this service has not the name of the Host header; ask for "
                        "localhost or 127.0.0.1, or start it with --token-file");
    else if (!host_is_origin(exchange_header(x, "Origin"), host))
        exchange_refuse(x, 403,
                        "a page of another site sends this request; start the service "
                        "with --token-file to let it");
    return x->status != 0;
}

/* After such a header, nothing more is read from the connection. */
static bool is_faulty(struct exchange *x, const struct request_line *line)
{
    const char *why;
    int status = header_fault(x->connection, line, &why);

    if (status == 0)
        return false;
    exchange_refuse(x, status, "%s", why);
    x->is_last = true;
    return true;
}

/* Without a slot it would wait, and then the state of the service could not be asked
 * for. */
static void slot_check(struct exchange *x)
{
    if (x->route->waits && !clients_has_slot(x->front->clients, x->client))
        exchange_refuse(x, 503,
                        "all %zu connections wait for answers; try again in a moment",
                        x->front->o.limits.clients);
}

/* Refuse a request before its body: x->status. A client without the token does not
 * learn which paths exist. */
static void header_check(struct exchange *x, const struct request_line *line)
{
    int status;

    if (is_faulty(x, line))
        return;
    status = route_find(x, line->method, x->path);
    if (is_of_another_site(x)) {
        x->allow[0] = '\0';
    } else if (!has_token(x)) {
        x->allow[0] = '\0';
        exchange_refuse(x, 401,
                        "send the token of the service: Authorization: Bearer TOKEN");
    } else if (status != 0) {
        route_refuse(x, status);
    } else {
        slot_check(x);
        if (x->status == 0)
            encoding_check(x);
        if (x->status == 0)
            length_check(x);
    }
}

static struct exchange *exchange_begin(struct front *f,
                                       struct MHD_Connection *connection,
                                       const struct request_line *line)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct exchange *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->front = f;
    x->connection = connection;
    x->client = info ? info->socket_context : NULL;
    x->method = line->method;
    x->since = clock_now();
    x->path = strdup(line->url);
    if (!x->path) {
        free(x);
        return NULL;
    }
    clients_set(f->clients, x->client, CLIENT_ASKS, x->since);
    header_check(x, line);
    return x;
}

/* ---- The body ---- */

/* Get more memory as bytes arrive. False: x->status has the reason. */
static bool body_room_make(struct exchange *x, size_t n)
{
    struct front *f = x->front;
    size_t wanted = x->room < BODY_STEP ? BODY_STEP : x->room, more;
    char *grown;

    while (wanted < x->n + n)
        wanted *= 2;
    more = wanted - x->room;
    if (atomic_fetch_add(&f->bodies, more) + more > f->o.limits.bodies) {
        atomic_fetch_sub(&f->bodies, more);
        exchange_refuse(x, 503,
                        "too many large requests at once; try again in a moment");
        return false;
    }
    grown = realloc(x->body, wanted);
    if (!grown) {
        atomic_fetch_sub(&f->bodies, more);
        exchange_refuse(x, 503, "out of memory for the body");
        return false;
    }
    x->body = grown;
    x->room = wanted;
    return true;
}

/* The body of a refused request is read and dropped: a client that is still sending
 * would not see the answer. */
static void body_take(struct exchange *x, const char *upload, size_t n)
{
    if (x->status != 0)
        return;
    if (n > x->front->o.limits.body - x->n) {
        too_large(x);
        return;
    }
    if (x->n + n > x->room && !body_room_make(x, n))
        return;
    memcpy(x->body + x->n, upload, n);
    x->n += n;
}

/* ---- The turns of libmicrohttpd: the header; the body, in parts; its end; and the answer
 *      of a service ---- */

static enum MHD_Result header_turn(struct front *f, struct MHD_Connection *connection,
                                   const struct request_line *line, void **state)
{
    struct exchange *x = exchange_begin(f, connection, line);

    if (!x)
        return MHD_NO;
    *state = x;
    /* A client that waits for permission to send its body gets the refusal instead. */
    if (x->is_last || (x->status != 0 && exchange_header(x, "Expect")))
        return answer_send(x);
    return MHD_YES;
}

enum MHD_Result exchange_turn(void *front, struct MHD_Connection *connection,
                              const char *url, const char *method, const char *version,
                              const char *upload, size_t *n, void **state)
{
    struct exchange *x = *state;

    if (!x)
        return header_turn(front, connection,
                           &(struct request_line){method, url, version}, state);
    if (*n > 0) {
        body_take(x, upload, *n);
        *n = 0;
        return MHD_YES;
    }
    if (x->waits)
        answer_infer_done(x);
    else if (x->status == 0)
        x->route->answer(x);
    return x->waits ? MHD_YES : answer_send(x);
}

void exchange_end(void *front, struct MHD_Connection *connection, void **state,
                  enum MHD_RequestTerminationCode why)
{
    struct exchange *x = *state;

    (void)connection;
    if (!x)
        return;
    access_log_write(x, why == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    clients_set(((struct front *)front)->clients, x->client, CLIENT_IDLE, clock_now());
    request_free(x);
    infer_answer_clear(&x->answer);
    for (int i = 0; i < ROUTE_ARGS; i++)
        free(x->args[i]);
    free(x->path);
    free(x);
    *state = NULL;
}
