/*
 * service.c - see service.h. Sections: its life, workers that come, messages, workers that
 * go, versions, the turn of the loop, requests, and how it is.
 */
#include "service/service.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/thread.h"

/* Bytes of an answer of a worker. */
#define MESSAGE_MAX SERVICE_MAX
/* How often requests are looked at that wait for too long, while there are any. */
#define EXPIRE_S 0.25
/* A connection that has not said HELLO by then is closed. */
#define HELLO_S 60
#define SAY_MAX 1024
#define EVENTS  64

struct sentence {
    struct sentence *next;
    char text[SAY_MAX];
};

struct service {
    struct service_options o;
    char *name, *socket;
    pthread_mutex_t lock;
    pthread_t thread;
    bool has_thread, stopping, draining, changed;
    int epoll, timer, listener;    /* listener -1: none */
    struct worker_link *strangers; /* without HELLO */
    struct edition *editions, *current;
    struct service_counts counts;
    struct sentence *said, **said_end; /* to be passed on without the lock */
    double expired;                    /* when that was looked at last */
    double armed;                      /* what the timer is set to; < 0: nothing */
};

static double now_of(const struct service *s)
{
    return s->o.clock ? s->o.clock() : clock_now();
}

/* ---- Its life ---- */

static int system_error(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_ENOMEM, "cannot %s for the service: %s", what,
                     strerror(errno));
}

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
        return system_error(err, "make a socket");
    if (bind(s->listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(s->socket, 0600) < 0 || listen(s->listener, 128) < 0)
        return error_set(err, RAYTRAIN_ESTORAGE, "cannot listen for workers on %s: %s",
                         s->socket, strerror(errno));
    return 0;
}

static int watch(struct service *s, int fd, void *what, uint32_t events,
                 struct error *err)
{
    struct epoll_event event = {.events = events, .data.ptr = what};

    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return system_error(err, "watch a descriptor");
    return 0;
}

static int descriptors_open(struct service *s, struct error *err)
{
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->epoll < 0 || s->timer < 0)
        return system_error(err, "make descriptors");
    if (watch(s, s->timer, &s->timer, EPOLLIN, err) < 0)
        return -1;
    if (!s->socket)
        return 0;
    if (socket_listen(s, err) < 0)
        return -1;
    return watch(s, s->listener, &s->listener, EPOLLIN, err);
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

static void links_close(struct worker_link **list)
{
    while (*list) {
        struct worker_link *w = *list;

        *list = w->next;
        worker_link_destroy(w);
    }
}

void service_destroy(struct service *s)
{
    if (!s)
        return;
    service_stop(s);
    links_close(&s->strangers);
    while (s->editions) {
        struct edition *e = s->editions;

        s->editions = e->next;
        links_close(&e->workers);
        edition_destroy(e);
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

/* ---- What is said, and who is called, without the lock ---- */

static void say(struct service *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct service *s, const char *fmt, ...)
{
    struct sentence *said = s->o.say ? calloc(1, sizeof *said) : NULL;
    va_list ap;

    if (!said)
        return;
    va_start(ap, fmt);
    vsnprintf(said->text, sizeof said->text, fmt, ap);
    va_end(ap);
    *s->said_end = said;
    s->said_end = &said->next;
}

static void finish(struct service_request *q)
{
    while (q) {
        struct service_request *next = q->next;

        q->done(q);
        q = next;
    }
}

/* Unlock, and pass on what has happened. */
static void unlock_and_tell(struct service *s, struct rows_request_list *done)
{
    struct sentence *said = s->said;
    bool changed = s->changed;

    s->said = NULL;
    s->said_end = &s->said;
    s->changed = false;
    pthread_mutex_unlock(&s->lock);
    finish(done->first);
    while (said) {
        struct sentence *next = said->next;

        s->o.say(s->o.arg, said->text);
        free(said);
        said = next;
    }
    if (changed && s->o.changed)
        s->o.changed(s->o.arg);
}

/* ---- Workers that come ---- */

/* Called with the lock. */
static int stranger_add(struct service *s, int fd, struct error *err)
{
    struct worker_link *w;

    if (worker_link_create(fd, MESSAGE_MAX, &w, err) < 0)
        return -1;
    w->since = now_of(s);
    /* One event each time something arrives, or the socket takes more: then all is read,
     * and all is sent that can be. */
    if (watch(s, fd, w, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, err) < 0) {
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

static void strangers_accept(struct service *s)
{
    struct error err;
    int fd;

    while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        if (stranger_add(s, fd, &err) < 0)
            say(s, "a worker cannot connect: %s", err.text);
}

static void unlink_link(struct worker_link **at, const struct worker_link *w)
{
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
}

static struct edition *edition_find(struct service *s, int64_t version)
{
    struct edition *e = s->editions;

    while (e && (e->model.version != version || e->is_retired))
        e = e->next;
    return e;
}

static size_t editions_count(const struct service *s)
{
    size_t n = 0;

    for (const struct edition *e = s->editions; e; e = e->next)
        n++;
    return n;
}

/* The version that a worker has, which may be new. */
static int edition_of(struct service *s, struct service_hello *hello,
                      struct edition **out, struct error *err)
{
    struct edition *e = edition_find(s, hello->version);

    *out = e;
    if (e)
        return edition_check(e, hello, err);
    if (editions_count(s) >= SERVICE_VERSIONS_MAX)
        return error_set(err, RAYTRAIN_EFIT, "there are already %d versions",
                         SERVICE_VERSIONS_MAX);
    if (edition_create(hello, &s->o.limits, &s->counts, &e, err) < 0)
        return -1;
    if (s->o.attach) {
        e->free_attached = s->o.detach;
        e->attached = s->o.attach(s->name, &e->model);
        if (!e->attached) {
            edition_destroy(e);
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a model");
        }
    }
    e->next = s->editions;
    s->editions = e;
    *out = e;
    return 0;
}

static int hello_take(struct service *s, struct worker_link *w, struct error *err)
{
    struct service_hello hello = {0};
    struct edition *e;
    int rc;

    if (w->in.header.kind != SERVICE_HELLO)
        return error_set(err, RAYTRAIN_ECORRUPT, "it did not begin with a HELLO");
    if (service_hello_read(w->in.payload, w->in.header.bytes, &hello, err) < 0)
        return -1;
    w->pid = hello.pid;
    rc = edition_of(s, &hello, &e, err);
    service_hello_clear(&hello);
    if (rc < 0)
        return -1;
    unlink_link(&s->strangers, w);
    edition_add_worker(e, w);
    if (!s->current)
        s->current = e;
    s->changed = true;
    return 0;
}

/* ---- Messages, and workers that go ---- */

static void link_lose(struct service *s, struct worker_link *w, const char *why,
                      double now, struct rows_request_list *done)
{
    struct edition *e = w->edition;

    if (e) {
        say(s, "worker %lld of %s, version %lld, is gone: %s", (long long)w->pid,
            s->name, (long long)e->model.version, why);
        edition_lose_worker(e, w, now, done);
        s->counts.workers_lost++;
        s->changed = true;
    } else {
        say(s, "a worker that connected to %s was refused: %s", s->name, why);
        unlink_link(&s->strangers, w);
    }
    worker_link_destroy(w);
    if (e)
        edition_dispatch(e, now, done);
}

/* All that has arrived: an enum service_progress, or -1. */
static int link_read(struct service *s, struct worker_link *w, double now,
                     struct rows_request_list *done, struct error *err)
{
    int rc;

    while ((rc = service_read(&w->in, w->fd, err)) == SERVICE_DONE) {
        int taken = w->edition ? edition_message(w->edition, w, now, done, err)
                               : hello_take(s, w, err);

        if (taken < 0)
            return -1;
        edition_dispatch(w->edition, now, done);
    }
    return rc;
}

static void link_event(struct service *s, struct worker_link *w, double now,
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

/* ---- Versions ---- */

int service_switch(struct service *s, int64_t version, struct error *err)
{
    struct rows_request_list done;
    struct edition *e;
    int rc = 0;

    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    e = edition_find(s, version);
    if (!e || edition_workers(e) == 0) {
        rc = error_set(err, RAYTRAIN_ENOTFOUND,
                       "no worker of %s has version %lld; wait until one is ready",
                       s->name, (long long)version);
    } else if (e != s->current) {
        s->current->is_retired = true;
        s->current = e;
        s->counts.switches++;
        s->changed = true;
    }
    unlock_and_tell(s, &done);
    return rc;
}

/* End the workers of versions that were replaced, and forget these versions, once nobody
 * holds them, who could still submit a request. */
static void editions_tidy(struct service *s)
{
    struct edition **at = &s->editions;

    while (*at) {
        struct edition *e = *at;

        if (!e->is_retired || e->refs > 0 || !edition_is_idle(e)) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        links_close(&e->workers);
        edition_destroy(e);
        s->changed = true;
    }
}

/* ---- A turn of the loop ---- */

/* Wake the loop at `when`, unless it wakes earlier; < 0: not for that. */
static void timer_arm(struct service *s, double when, double now)
{
    double left = when - now;
    struct itimerspec spec = {0};

    if (when < 0 || (s->armed >= 0 && s->armed <= when))
        return;
    if (left < 1e-9)
        left = 1e-9;
    spec.it_value.tv_sec = (time_t)left;
    spec.it_value.tv_nsec = (long)((left - (double)spec.it_value.tv_sec) * 1e9) + 1;
    if (spec.it_value.tv_nsec >= 1000000000)
        spec.it_value.tv_nsec = 999999999;
    if (timerfd_settime(s->timer, 0, &spec, NULL) == 0)
        s->armed = when;
}

static void timer_take(struct service *s)
{
    uint64_t times;

    if (read(s->timer, &times, sizeof times) == sizeof times)
        s->armed = -1;
}

static void strangers_expire(struct service *s, double now,
                             struct rows_request_list *done)
{
    struct worker_link *w = s->strangers;

    while (w) {
        struct worker_link *next = w->next;

        if (now - w->since > HELLO_S)
            link_lose(s, w, "it did not say what it predicts", now, done);
        w = next;
    }
}

static void due_do(struct service *s, double now, struct rows_request_list *done)
{
    bool expire = now - s->expired >= EXPIRE_S;

    for (struct edition *e = s->editions; e; e = e->next) {
        if (expire)
            edition_expire(e, now, done);
        edition_dispatch(e, now, done);
        timer_arm(s, edition_next(e), now);
        if (!edition_is_idle(e))
            timer_arm(s, now + EXPIRE_S, now);
    }
    if (expire) {
        strangers_expire(s, now, done);
        s->expired = now;
    }
    if (s->strangers)
        timer_arm(s, now + HELLO_S, now);
    editions_tidy(s);
}

static void event_take(struct service *s, void *what, double now,
                       struct rows_request_list *done)
{
    if (what == &s->timer)
        timer_take(s);
    else if (what == &s->listener)
        strangers_accept(s);
    else
        link_event(s, what, now, done);
}

int service_turn(struct service *s, double seconds, struct error *err)
{
    struct epoll_event events[EVENTS];
    int n =
        epoll_wait(s->epoll, events, EVENTS, seconds < 0 ? -1 : (int)(seconds * 1000));
    struct rows_request_list done;
    double now;

    if (n < 0 && errno != EINTR)
        return system_error(err, "wait");
    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    now = now_of(s);
    for (int i = 0; i < n; i++)
        event_take(s, events[i].data.ptr, now, &done);
    due_do(s, now, &done);
    unlock_and_tell(s, &done);
    return 0;
}

void service_stop(struct service *s)
{
    struct rows_request_list done;

    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    s->draining = s->stopping = true;
    if (s->has_thread)
        timer_arm(s, 0, 0);
    pthread_mutex_unlock(&s->lock);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    s->has_thread = false;
    pthread_mutex_lock(&s->lock);
    for (struct edition *e = s->editions; e; e = e->next)
        edition_give_up(e, "the service ends", now_of(s), &done);
    for (struct edition *e = s->editions; e; e = e->next)
        for (struct worker_link *w = e->workers; w; w = w->next)
            for (struct rows_batch *b; (b = worker_link_take(w));)
                rows_batch_destroy(b);
    unlock_and_tell(s, &done);
}

/* ---- Requests ---- */

static struct edition *hold(struct service *s, struct edition *e)
{
    if (e)
        e->refs++;
    pthread_mutex_unlock(&s->lock);
    return e;
}

struct edition *service_hold_version(struct service *s, int64_t version)
{
    struct edition *e;

    pthread_mutex_lock(&s->lock);
    e = edition_find(s, version);
    return hold(s, e);
}

struct edition *service_hold_current(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    return hold(s, s->current);
}

void service_release(struct service *s, struct edition *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&s->lock);
    if (--e->refs == 0 && e->is_retired)
        timer_arm(s, 0, 0);
    pthread_mutex_unlock(&s->lock);
}

int service_submit(struct service *s, struct edition *e, struct service_request *q)
{
    struct rows_request_list done;
    double now;
    int status;

    rows_request_list_init(&done);
    pthread_mutex_lock(&s->lock);
    now = now_of(s);
    if (s->draining) {
        rows_request_fail(q, 503, "the service is stopping");
        service_counts_answer(&s->counts, q);
        status = 503;
    } else {
        status = edition_submit(e, q, now);
    }
    if (status == 0) {
        edition_dispatch(e, now, &done);
        timer_arm(s, edition_next(e), now);
        timer_arm(s, now + EXPIRE_S, now);
    }
    unlock_and_tell(s, &done);
    return status;
}

void service_drain(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_mutex_unlock(&s->lock);
}

/* ---- How it is ---- */

bool service_is_idle(struct service *s)
{
    bool idle = true;

    pthread_mutex_lock(&s->lock);
    for (struct edition *e = s->editions; idle && e; e = e->next)
        idle = edition_is_idle(e);
    pthread_mutex_unlock(&s->lock);
    return idle;
}

bool service_is_ready(struct service *s)
{
    bool ready;

    pthread_mutex_lock(&s->lock);
    ready = !s->draining && s->current && edition_workers(s->current) > 0;
    pthread_mutex_unlock(&s->lock);
    return ready;
}

size_t service_workers(struct service *s, int64_t version)
{
    struct edition *e;
    size_t n;

    pthread_mutex_lock(&s->lock);
    e = edition_find(s, version);
    n = e ? edition_workers(e) : 0;
    pthread_mutex_unlock(&s->lock);
    return n;
}

const char *service_name(const struct service *s)
{
    return s->name;
}

static void edition_look(const struct edition *e, struct service_state *state)
{
    if (!e->is_retired && state->n_versions < SERVICE_VERSIONS_MAX)
        state->versions[state->n_versions++] = e->model.version;
    state->queue += e->queue_pieces;
    for (const struct worker_link *w = e->workers; w; w = w->next) {
        state->workers += !w->is_lost;
        state->under_way += w->n;
    }
}

void service_look(struct service *s, struct service_state *state)
{
    *state = (struct service_state){0};
    pthread_mutex_lock(&s->lock);
    state->counts = s->counts;
    state->ready = !s->draining && s->current && edition_workers(s->current) > 0;
    if (s->current)
        edition_look(s->current, state);
    for (const struct edition *e = s->editions; e; e = e->next)
        if (e != s->current)
            edition_look(e, state);
    pthread_mutex_unlock(&s->lock);
}
