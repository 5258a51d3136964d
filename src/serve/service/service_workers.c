/*
 * service_workers.c - the connections of workers: accept them, read their HELLO and
 * their answers, and end them.
 */
#include "service/service_impl.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* The largest answer of a worker, in bytes. */
#define MESSAGE_MAX SERVICE_MAX

/* Edge-triggered: one event when data arrive, and then all of them are read. */
#define ARRIVALS (EPOLLIN | EPOLLRDHUP | EPOLLET)

/* ---- Descriptors in the loop ---- */

static void link_watch(struct service *s, struct worker_link *w, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = w};

    if (events == w->watched)
        return;
    if (epoll_ctl(s->epoll, EPOLL_CTL_MOD, w->fd, &event) == 0)
        w->watched = events;
    else
        shutdown(w->fd, SHUT_RDWR);
}

/* Wait until a socket that did not accept all of a message can accept more. Otherwise
 * it would wake the loop each time a worker reads. */
void service_watch_links(struct service *s, const struct model_version *v)
{
    for (struct worker_link *w = v->workers; w; w = w->next) {
        uint32_t room = !w->is_lost && worker_link_is_full(w) ? EPOLLOUT : 0;

        if (w->watched != 0)
            link_watch(s, w, ARRIVALS | room);
    }
}

/* ---- Workers that come ---- */

/* Called with the lock. */
static int stranger_add(struct service *s, int fd, struct error *err)
{
    struct worker_link *w;

    if (worker_link_create(fd, MESSAGE_MAX, &w, err) < 0)
        return -1;
    w->since = service_now(s);
    w->watched = ARRIVALS;
    if (service_watch(s, fd, w, w->watched, err) < 0) {
        worker_link_destroy(w);
        return -1;
    }
    w->next = s->strangers;
    s->strangers = w;
    return 0;
}

int service_add_worker(struct service *s, int fd, struct error *err)
{
    int rc;

    pthread_mutex_lock(&s->lock);
    rc = stranger_add(s, fd, err);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void service_accept(struct service *s)
{
    struct error err;
    int fd;

    while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        if (stranger_add(s, fd, &err) < 0)
            service_say(s, "a worker cannot connect: %s", err.text);
}

static void unlink_link(struct worker_link **at, const struct worker_link *w)
{
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

static size_t versions_count(const struct service *s)
{
    size_t n = 0;

    for (const struct model_version *v = s->versions; v; v = v->next)
        n++;
    return n;
}

/* The version of a worker, which may be new. */
static int version_of_hello(struct service *s, struct service_hello *hello,
                            struct model_version **out, struct error *err)
{
    struct model_version *v = service_version(s, hello->version);

    *out = v;
    if (v)
        return model_version_check(v, hello, err);
    if (versions_count(s) >= SERVICE_VERSIONS_MAX)
        return error_set(err, RAYTRAIN_EFIT, "there are already %d versions",
                         SERVICE_VERSIONS_MAX);
    if (model_version_create(hello, &s->o.limits, &s->counts, &v, err) < 0)
        return -1;
    if (s->o.attach) {
        v->free_attached = s->o.detach;
        v->attached = s->o.attach(s->name, &v->model);
        if (!v->attached) {
            model_version_destroy(v);
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a model");
        }
    }
    v->next = s->versions;
    s->versions = v;
    *out = v;
    return 0;
}

static int hello_take(struct service *s, struct worker_link *w, struct error *err)
{
    struct service_hello hello = {0};
    struct model_version *v;
    int rc;

    if (w->in.header.kind != SERVICE_HELLO)
        return error_set(err, RAYTRAIN_ECORRUPT, "it did not begin with a HELLO");
    if (service_hello_read(w->in.payload, w->in.header.bytes, &hello, err) < 0)
        return -1;
    w->pid = hello.pid;
    rc = version_of_hello(s, &hello, &v, err);
    service_hello_clear(&hello);
    if (rc < 0)
        return -1;
    unlink_link(&s->strangers, w);
    model_version_add_worker(v, w);
    if (!s->current)
        s->current = v;
    s->changed = true;
    return 0;
}

/* ---- Messages, and workers that go ---- */

static void link_lose(struct service *s, struct worker_link *w, const char *why,
                      double now, struct rows_request_list *done)
{
    struct model_version *v = w->served;

    if (v) {
        service_say(s, "worker %lld of %s, version %lld, is gone: %s",
                    (long long)w->pid, s->name, (long long)v->model.version, why);
        model_version_lose_worker(v, w, now, done);
        s->counts.workers_lost++;
        s->changed = true;
    } else {
        service_say(s, "a worker that connected to %s was refused: %s", s->name, why);
        unlink_link(&s->strangers, w);
    }
    worker_link_destroy(w);
    if (v)
        model_version_dispatch(v, now, done);
}

/* Read all that has arrived. Returns an enum service_progress, or -1. */
static int link_read(struct service *s, struct worker_link *w, double now,
                     struct rows_request_list *done, struct error *err)
{
    int rc;

    while ((rc = service_read(&w->in, w->fd, err)) == SERVICE_DONE) {
        int taken = w->served ? model_version_message(w->served, w, now, done, err)
                              : hello_take(s, w, err);

        if (taken < 0)
            return -1;
        model_version_dispatch(w->served, now, done);
    }
    return rc;
}

void service_link_event(struct service *s, struct worker_link *w, double now,
                        struct rows_request_list *done)
{
    struct error err = {0};
    int rc = link_read(s, w, now, done, &err);

    if (rc == SERVICE_LATER)
        rc = worker_link_flush(w, &err) < 0 ? -1 : SERVICE_LATER;
    if (rc == SERVICE_CLOSED)
        link_lose(s, w, "it has closed its connection", now, done);
    else if (rc < 0)
        link_lose(s, w, err.text, now, done);
}

/* ---- Help by the thread of a request ---- */

/* The only busy worker; NULL: there are several, or none. */
static struct worker_link *busy_link(const struct model_version *v)
{
    struct worker_link *busy = NULL;

    for (struct worker_link *w = v->workers; w; w = w->next) {
        if (w->n == 0)
            continue;
        if (busy || w->is_lost || w->watched != ARRIVALS)
            return NULL;
        busy = w;
    }
    return busy;
}

static bool has_link(const struct model_version *v, const struct worker_link *link)
{
    const struct worker_link *w = v->workers;

    while (w && w != link)
        w = w->next;
    return w != NULL;
}

/* Handle what has arrived. The thread of the service may be about to look at this link
 * as well, so only that thread ends a link. */
static void link_help(struct service *s, struct worker_link *w, double now,
                      struct rows_request_list *done)
{
    struct error err;

    if (link_read(s, w, now, done, &err) < 0)
        shutdown(w->fd, SHUT_RDWR);
}

/* While the link is not watched, its answers only wake the caller. */
void service_help(struct service *s, struct model_version *v, int ms)
{
    struct pollfd on = {.events = POLLIN};
    struct rows_request_list done;
    struct worker_link *w;

    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    w = busy_link(v);
    if (w) {
        link_watch(s, w, 0);
        on.fd = w->fd;
    }
    pthread_mutex_unlock(&s->lock);
    if (!w)
        return;
    poll(&on, 1, ms);
    pthread_mutex_lock(&s->lock);
    if (has_link(v, w)) {
        link_help(s, w, service_now(s), &done);
        link_watch(s, w, ARRIVALS);
        service_watch_links(s, v);
    }
    service_unlock(s, &done);
}

void service_expire(struct service *s, double now, struct rows_request_list *done)
{
    struct worker_link *w = s->strangers;

    while (w) {
        struct worker_link *next = w->next;

        if (now - w->since > HELLO_S)
            link_lose(s, w, "it did not say what it predicts", now, done);
        w = next;
    }
}
