/*
 * service.c - the public functions of a service. Sections: its life, notices to its
 * owner, versions, requests, and its state. service_workers.c and service_loop.c have
 * the rest.
 */
#include "service/service_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/thread.h"

/* ---- Its life ---- */

static int socket_listen(struct service *s, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(s->socket) >= sizeof address.sun_path)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "the path of the socket for workers is too long: %s; set TMPDIR "
            "to a shorter one",
            s->socket);
    memcpy(address.sun_path, s->socket, strlen(s->socket) + 1);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener < 0)
        return service_error(err, "make a socket");
    if (bind(s->listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(s->socket, 0600) < 0 || listen(s->listener, 128) < 0)
        return error_set(err, RAYTRAIN_ESTORAGE, "cannot listen for workers on %s: %s",
                         s->socket, strerror(errno));
    return 0;
}

static int descriptors_open(struct service *s, struct error *err)
{
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->epoll < 0 || s->timer < 0)
        return service_error(err, "make descriptors");
    if (service_watch(s, s->timer, &s->timer, EPOLLIN, err) < 0)
        return -1;
    if (!s->socket)
        return 0;
    if (socket_listen(s, err) < 0)
        return -1;
    return service_watch(s, s->listener, &s->listener, EPOLLIN, err);
}

int service_create(const struct service_options *options, struct service **out,
                   struct error *err)
{
    struct service *s = calloc(1, sizeof *s);

    if (!s)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a service");
    s->o = *options;
    s->epoll = s->timer = s->listener = -1;
    s->said_end = &s->said;
    s->armed = -1;
    pthread_mutex_init(&s->lock, NULL);
    s->name = strdup(options->name);
    s->socket = options->socket ? strdup(options->socket) : NULL;
    if (!s->name || (options->socket && !s->socket)) {
        service_destroy(s);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a service");
    }
    if (descriptors_open(s, err) < 0) {
        service_destroy(s);
        return -1;
    }
    *out = s;
    return 0;
}

void service_destroy(struct service *s)
{
    if (!s)
        return;
    service_stop(s);
    service_close_links(&s->strangers);
    while (s->versions) {
        struct model_version *v = s->versions;

        s->versions = v->next;
        service_close_links(&v->workers);
        model_version_destroy(v);
    }
    if (s->epoll >= 0)
        close(s->epoll);
    if (s->timer >= 0)
        close(s->timer);
    if (s->listener >= 0) {
        close(s->listener);
        unlink(s->socket);
    }
    pthread_mutex_destroy(&s->lock);
    free(s->name);
    free(s->socket);
    free(s);
}

static bool is_stopping(struct service *s)
{
    bool stopping;

    pthread_mutex_lock(&s->lock);
    stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

static void *thread_run(void *arg)
{
    struct service *s = arg;
    struct error err;

    while (!is_stopping(s))
        if (service_turn(s, -1, &err) < 0 && s->o.say)
            s->o.say(s->o.arg, err.text);
    return NULL;
}

int service_start(struct service *s, struct error *err)
{
    if (thread_start(&s->thread, thread_run, s, err) < 0)
        return -1;
    s->has_thread = true;
    return 0;
}

/* ---- Versions ---- */

int service_switch(struct service *s, int64_t version, struct error *err)
{
    struct rows_request_list done;
    struct model_version *v;
    int rc = 0;

    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    v = service_version(s, version);
    if (!v || model_version_workers(v) == 0) {
        rc = error_set(err, RAYTRAIN_ENOTFOUND,
                       "no worker of %s has version %lld; wait until one is ready",
                       s->name, (long long)version);
    } else if (v != s->current) {
        s->current->is_retired = true;
        s->current = v;
        s->counts.switches++;
        s->changed = true;
    }
    service_unlock(s, &done);
    return rc;
}

void service_stop(struct service *s)
{
    struct rows_request_list done;

    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    s->draining = s->stopping = true;
    if (s->has_thread)
        service_arm(s, 0, 0);
    pthread_mutex_unlock(&s->lock);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    s->has_thread = false;
    pthread_mutex_lock(&s->lock);
    for (struct model_version *v = s->versions; v; v = v->next)
        model_version_give_up(v, "the service ends", service_now(s), &done);
    for (struct model_version *v = s->versions; v; v = v->next)
        for (struct worker_link *w = v->workers; w; w = w->next)
            for (struct rows_batch *b; (b = worker_link_take(w));)
                rows_batch_destroy(b);
    service_unlock(s, &done);
}

/* ---- Requests ---- */

static struct model_version *hold(struct service *s, struct model_version *v)
{
    if (v)
        v->refs++;
    pthread_mutex_unlock(&s->lock);
    return v;
}

struct model_version *service_hold_version(struct service *s, int64_t version)
{
    struct model_version *v;

    pthread_mutex_lock(&s->lock);
    v = service_version(s, version);
    return hold(s, v);
}

struct model_version *service_hold_current(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    return hold(s, s->current);
}

void service_release(struct service *s, struct model_version *v)
{
    if (!v)
        return;
    pthread_mutex_lock(&s->lock);
    if (--v->refs == 0 && v->is_retired)
        service_arm(s, 0, 0);
    pthread_mutex_unlock(&s->lock);
}

int service_submit(struct service *s, struct model_version *v,
                   struct service_request *q)
{
    struct rows_request_list done;
    double now;
    int status;

    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    now = service_now(s);
    if (s->draining) {
        rows_request_fail(q, 503, "the service is stopping");
        service_counts_answer(&s->counts, q);
        status = 503;
    } else {
        status = model_version_submit(v, q, now);
    }
    if (status == 0) {
        model_version_dispatch(v, now, &done);
        service_watch_links(s, v);
        service_arm(s, model_version_next(v), now);
        service_arm(s, now + EXPIRE_S, now);
    }
    service_unlock(s, &done);
    return status;
}

void service_drain(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_mutex_unlock(&s->lock);
}

/* ---- Its state ---- */

bool service_is_idle(struct service *s)
{
    bool idle = true;

    pthread_mutex_lock(&s->lock);
    for (struct model_version *v = s->versions; idle && v; v = v->next)
        idle = model_version_is_idle(v);
    pthread_mutex_unlock(&s->lock);
    return idle;
}

bool service_is_ready(struct service *s)
{
    bool ready;

    pthread_mutex_lock(&s->lock);
    ready = !s->draining && s->current && model_version_workers(s->current) > 0;
    pthread_mutex_unlock(&s->lock);
    return ready;
}

size_t service_workers(struct service *s, int64_t version)
{
    struct model_version *v;
    size_t n;

    pthread_mutex_lock(&s->lock);
    v = service_version(s, version);
    n = v ? model_version_workers(v) : 0;
    pthread_mutex_unlock(&s->lock);
    return n;
}

const char *service_name(const struct service *s)
{
    return s->name;
}

static void version_look(const struct model_version *v, struct service_state *state)
{
    if (!v->is_retired && state->n_versions < SERVICE_VERSIONS_MAX)
        state->versions[state->n_versions++] = v->model.version;
    state->queue += v->queue_pieces;
    for (const struct worker_link *w = v->workers; w; w = w->next) {
        state->workers += !w->is_lost;
        state->under_way += w->n;
    }
}

void service_look(struct service *s, struct service_state *state)
{
    *state = (struct service_state){0};
    pthread_mutex_lock(&s->lock);
    state->counts = s->counts;
    state->ready = !s->draining && s->current && model_version_workers(s->current) > 0;
    if (s->current)
        version_look(s->current, state);
    for (const struct model_version *v = s->versions; v; v = v->next)
        if (v != s->current)
            version_look(v, state);
    pthread_mutex_unlock(&s->lock);
}
