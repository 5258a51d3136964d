/* http_store.c - the store as trees, and its requests. Only one thread, which belongs
 * to libmicrohttpd, uses it. */
#include "config.h"

#include "backend/http_store.h"

#include <microhttpd.h>
#include <search.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/thread.h"

/* A value has the addresses of one process, which need far less. */
#define VALUE_MAX ((size_t)1 << 20)
/* After this a client that sends nothing is disconnected. */
#define SILENCE_S 30

/* Nodes of tsearch(3) trees. A key's value is NULL if it has not been put. */
struct item {
    char *key;
    void *value;
    size_t n;
    bool done; /* deleted: the member of this name has found all others */
};

struct scope {
    char *name;
    void *items;
    int n_done;
};

struct http_store {
    struct MHD_Daemon *daemon;
    http_store_members members;
    http_store_admits admits;
    const void *arg;
    void *scopes;
};

/* The body of a request so far. */
struct body {
    void *data;
    size_t n;
    bool refused; /* too long, or no memory */
};

/* ---- The store ---- */

static int item_compare(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->key, ((const struct item *)b)->key);
}

static int scope_compare(const void *a, const void *b)
{
    return strcmp(((const struct scope *)a)->name, ((const struct scope *)b)->name);
}

static void item_free(void *node)
{
    struct item *e = node;

    free(e->key);
    free(e->value);
    free(e);
}

static void scope_free(void *node)
{
    struct scope *s = node;

    tdestroy(s->items, item_free);
    free(s->name);
    free(s);
}

/* NULL if there is none, or no memory for a new one. */
static struct scope *scope_get(struct http_store *s, const char *name, bool create)
{
    struct scope want = {.name = (char *)name}, *made;
    struct scope **found = tfind(&want, &s->scopes, scope_compare);

    if (found || !create)
        return found ? *found : NULL;
    made = calloc(1, sizeof *made);
    if (!made || !(made->name = strdup(name)) ||
        !tsearch(made, &s->scopes, scope_compare)) {
        if (made)
            scope_free(made);
        return NULL;
    }
    return made;
}

static struct item *item_get(struct scope *s, const char *key, bool create)
{
    struct item want = {.key = (char *)key}, *made;
    struct item **found = tfind(&want, &s->items, item_compare);

    if (found || !create)
        return found ? *found : NULL;
    made = calloc(1, sizeof *made);
    if (!made || !(made->key = strdup(key)) ||
        !tsearch(made, &s->items, item_compare)) {
        if (made)
            item_free(made);
        return NULL;
    }
    return made;
}

/* The body becomes the value. */
static unsigned value_put(struct http_store *s, const char *scope, const char *key,
                          struct body *body)
{
    struct scope *in = scope_get(s, scope, true);
    struct item *e = in ? item_get(in, key, true) : NULL;

    if (!e)
        return MHD_HTTP_INTERNAL_SERVER_ERROR;
    free(e->value);
    e->value = body->data ? body->data : calloc(1, 1);
    e->n = body->n;
    body->data = NULL;
    return e->value ? MHD_HTTP_OK : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static void scope_drop(struct http_store *s, struct scope *in)
{
    tdelete(in, &s->scopes, scope_compare);
    scope_free(in);
}

/* For a scope whose members are not known: when the first is done, all have met. */
static void key_drop(struct http_store *s, const char *scope, const char *key)
{
    struct scope *in = scope_get(s, scope, false);
    struct item *e = in ? item_get(in, key, false) : NULL;

    if (!e)
        return;
    tdelete(e, &in->items, item_compare);
    item_free(e);
    if (!in->items)
        scope_drop(s, in);
}

static unsigned member_done(struct http_store *s, const char *scope, const char *key)
{
    int members = s->members(s->arg, scope);
    struct scope *in;
    struct item *e;

    if (members == 0) {
        key_drop(s, scope, key);
        return MHD_HTTP_OK;
    }
    in = scope_get(s, scope, true);
    e = in ? item_get(in, key, true) : NULL;
    if (!e)
        return MHD_HTTP_INTERNAL_SERVER_ERROR;
    in->n_done += !e->done;
    e->done = true;
    if (in->n_done == members)
        scope_drop(s, in);
    return MHD_HTTP_OK;
}

/* ---- HTTP ---- */

static enum MHD_Result store_answer(struct MHD_Connection *c, unsigned status,
                                    const void *value, size_t n)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        n, (void *)(uintptr_t)value, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    result = MHD_queue_response(c, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result value_answer(struct http_store *s, struct MHD_Connection *c,
                                    const char *scope, const char *key)
{
    struct scope *in = scope_get(s, scope, false);
    const struct item *e = in ? item_get(in, key, false) : NULL;

    if (!e || !e->value)
        return store_answer(c, MHD_HTTP_NOT_FOUND, "", 0);
    return store_answer(c, MHD_HTTP_OK, e->value, e->n);
}

/* "/SCOPE/KEY" */
static enum MHD_Result request_answer(struct http_store *s, struct MHD_Connection *c,
                                      const char *method, const char *url,
                                      struct body *body)
{
    const char *key = *url == '/' ? strchr(url + 1, '/') : NULL;
    char *scope;
    enum MHD_Result result;

    if (!key || key == url + 1 || key[1] == '\0' || body->refused)
        return store_answer(c, MHD_HTTP_BAD_REQUEST, "", 0);
    scope = strndup(url + 1, (size_t)(key - url) - 1);
    if (!scope)
        return MHD_NO;
    key++;
    if (strcmp(method, MHD_HTTP_METHOD_GET) == 0)
        result = value_answer(s, c, scope, key);
    else if (strcmp(method, MHD_HTTP_METHOD_PUT) == 0)
        result = store_answer(c, value_put(s, scope, key, body), "", 0);
    else if (strcmp(method, MHD_HTTP_METHOD_DELETE) == 0)
        result = store_answer(c, member_done(s, scope, key), "", 0);
    else
        result = store_answer(c, MHD_HTTP_METHOD_NOT_ALLOWED, "", 0);
    free(scope);
    return result;
}

static void body_add(struct body *body, const char *data, size_t n)
{
    char *more;

    if (body->refused || n > VALUE_MAX - body->n) {
        body->refused = true;
        return;
    }
    more = realloc(body->data, body->n + n);
    if (!more) {
        body->refused = true;
        return;
    }
    memcpy(more + body->n, data, n);
    body->data = more;
    body->n += n;
}

/* Called with the headers, then with each part of the body, then at the end. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version,
                                  const char *data, size_t *n, void **state)
{
    struct body *body = *state;

    (void)version;
    if (!body) {
        *state = calloc(1, sizeof *body);
        return *state ? MHD_YES : MHD_NO;
    }
    if (*n > 0) {
        body_add(body, data, *n);
        *n = 0;
        return MHD_YES;
    }
    return request_answer(arg, c, method, url, body);
}

static void on_request_end(void *arg, struct MHD_Connection *c, void **state,
                           enum MHD_RequestTerminationCode how)
{
    struct body *body = *state;

    (void)arg, (void)c, (void)how;
    if (body)
        free(body->data);
    free(body);
    *state = NULL;
}

static enum MHD_Result on_connection(void *arg, const struct sockaddr *peer,
                                     socklen_t n)
{
    const struct http_store *s = arg;

    (void)n;
    return s->admits(s->arg, peer) ? MHD_YES : MHD_NO;
}

int http_store_start(int listening, http_store_members members,
                     http_store_admits admits, const void *arg, struct http_store **out,
                     struct error *err)
{
    struct http_store *s = calloc(1, sizeof *s);
    sigset_t before;

    *out = NULL;
    if (!s) {
        close(listening);
        return error_no_memory(err);
    }
    s->members = members;
    s->admits = admits;
    s->arg = arg;
    /* The new thread inherits the mask: signals are for the main thread. */
    thread_signals_block(&before);
    s->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, on_connection, s, on_request,
        s, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_NOTIFY_COMPLETED,
        on_request_end, NULL, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S,
        MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!s->daemon) {
        close(listening);
        free(s);
        return error_set(err, RAYTRAIN_ECOMM, "cannot start an HTTP server");
    }
    *out = s;
    return 0;
}

void http_store_stop(struct http_store *s)
{
    if (!s)
        return;
    MHD_stop_daemon(s->daemon);
    tdestroy(s->scopes, scope_free);
    free(s);
}
