/*
 * life.c - in order:
 *
 *   Messages
 *   Versions       the one that is served, and the next one
 *   Answering      from the first worker that is ready
 *   What happens   workers, the service, checkpoints, signals
 *   The end
 *   The life       what is made, and in which order it goes
 */
#include "config.h"

#include "life/life.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "crew/crew.h"
#include "event/event_loop.h"
#include "event/stop_request.h"
#include "http/front.h"
#include "http/served_model.h"
#include "http/token.h"
#include "life/follower.h"
#include "place/place.h"
#include "run/checkpoint_manager.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/private_dir.h"

#define SOCKET_MOST 64  /* bytes of the path of the directory of sockets */
#define LOOK_S      0.1 /* how often it is looked whether all is answered, at the end */
#define GRACE_S     10.0 /* for workers to end, beyond the time for an answer */

/* A group of workers, and their version. */
struct version {
    int group; /* -1: there is none */
    int64_t number;
    char *checkpoint;
    bool all_joined;
};

struct life {
    const struct life_options *o;
    struct event_loop *loop;
    struct stop_request stop;
    char sockets[PATH_MAX];
    int sockets_lock; /* -1: there is no directory */
    char *place, *runs;
    char *token, *token_path; /* NULL: clients need none */
    char *cert, *key;
    int log; /* -1: none */
    struct listening at;
    struct service *service; /* the front has its address */
    struct crew *crew;
    struct front *front;
    struct follower *follower;
    int changed; /* eventfds, written by other threads */
    int newer;
    struct version now, next;
    char *pending; /* the checkpoint after the next one; NULL: none */
    bool ending, failed;
    double end_by; /* clock_now() */
    int timer;     /* -1: none */
    struct error why;
};

static int no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

/* ---- Messages ---- */

static void say(struct life *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct life *l, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    l->o->say(l->o->arg, text);
}

static void on_sentence(void *arg, const char *text)
{
    struct life *l = arg;

    l->o->say(l->o->arg, text);
}

/* ---- Versions ---- */

static void version_clear(struct version *v)
{
    free(v->checkpoint);
    *v = (struct version){.group = -1};
}

static int version_start(struct life *l, struct version *v, const char *checkpoint,
                         struct error *err)
{
    v->checkpoint = strdup(checkpoint);
    v->number = checkpoint_manager_iteration(checkpoint);
    v->all_joined = false;
    if (!v->checkpoint)
        return no_memory(err);
    return crew_start(l->crew, checkpoint, &v->group, err);
}

/* One change at a time. */
static void pending_begin(struct life *l)
{
    char *checkpoint = l->pending;
    struct error err;

    if (!checkpoint || l->next.group >= 0 || l->ending)
        return;
    l->pending = NULL;
    if (checkpoint_manager_iteration(checkpoint) != l->now.number &&
        version_start(l, &l->next, checkpoint, &err) < 0) {
        say(l, "cannot change to %s: %s", checkpoint, err.text);
        version_clear(&l->next);
    }
    free(checkpoint);
}

/* Once all workers of the next version are ready: their service knows all of them. */
static void version_switch(struct life *l)
{
    struct version old = l->now;
    struct error err;

    if (l->next.group < 0 || !l->next.all_joined ||
        service_workers(l->service, l->next.number) < (size_t)l->o->workers)
        return;
    if (service_switch(l->service, l->next.number, &err) < 0)
        return; /* one of them has just ended */
    l->now = l->next;
    l->next = (struct version){.group = -1};
    say(l, "serving %s from now on", l->now.checkpoint);
    crew_retire(l->crew, old.group);
    version_clear(&old);
    pending_begin(l);
}

/* ---- Answering ---- */

static int address_write(struct life *l, struct error *err)
{
    const struct serve_config *config = l->o->config;
    const char *scheme = config->tls_cert ? "https" : "http";
    char *url, *name, *address;
    int rc;

    if (place_name(l->at.is_unix ? "localhost" : l->at.text, &name, &address, err) < 0)
        return -1;
    rc = asprintf(&url, "%s://%s", scheme, name) < 0 ? no_memory(err) : 0;
    if (rc == 0) {
        rc = place_write(
            l->place,
            &(struct place_address){.model = l->o->model,
                                    .url = url,
                                    .socket = l->at.is_unix ? l->at.path : NULL,
                                    .address = address,
                                    .token_file = l->token_path},
            err);
        free(url);
    }
    free(name);
    free(address);
    return rc;
}

static int answering_begin(struct life *l, struct error *err)
{
    const struct serve_config *config = l->o->config;
    struct front_options options = {.at = &l->at,
                                    .token = l->token,
                                    .cert = l->cert,
                                    .key = l->key,
                                    .version = l->o->version,
                                    .limits = FRONT_LIMITS,
                                    .log = l->log,
                                    .services = &l->service,
                                    .n_services = 1};

    options.limits.body = config->max_body;
    if (options.limits.bodies < 2 * config->max_body)
        options.limits.bodies = 2 * config->max_body;
    options.limits.clients = (size_t)config->max_connections;
    options.limits.client_s = config->timeout_s;
    if (front_create(&options, &l->front, err) < 0 || address_write(l, err) < 0)
        return -1;
    say(l, "serving %s as %s at %s", l->now.checkpoint, l->o->model, l->at.text);
    return 0;
}

/* ---- What happens ---- */

static void fail(struct life *l, const struct error *err)
{
    if (!l->failed)
        l->why = *err;
    l->failed = true;
}

static void on_joined(void *arg, int group, int fd)
{
    struct life *l = arg;
    struct error err;

    (void)group;
    if (!l->service) /* it has ended */
        close(fd);
    else if (service_add_worker(l->service, fd, &err) < 0)
        say(l, "a worker cannot join: %s", err.text);
}

static void on_ready(void *arg, int group)
{
    struct life *l = arg;

    if (group != l->next.group)
        return;
    l->next.all_joined = true;
    version_switch(l);
}

static void on_gone(void *arg, int group, const char *why)
{
    struct life *l = arg;
    struct error err;

    if (!why)
        return;
    if (l->ending) { /* it was signalled, too: requests that are left get 503 */
        if (group == l->now.group)
            l->end_by = clock_now();
        return;
    }
    if (group == l->next.group) {
        say(l, "%s cannot be served: %s; %s is, as before", l->next.checkpoint, why,
            l->now.checkpoint);
        version_clear(&l->next);
        pending_begin(l);
    } else if (group == l->now.group) {
        error_set(&err, RAYTRAIN_EFAILED, "no worker is left: %s", why);
        fail(l, &err);
    }
}

/* By the service's thread. */
static void on_service(void *arg)
{
    struct life *l = arg;

    eventfd_write(l->changed, 1);
}

static int on_changed(void *arg, struct error *err)
{
    struct life *l = arg;
    eventfd_t n;

    eventfd_read(l->changed, &n);
    if (!l->service) /* it has ended */
        return 0;
    if (!l->front && !l->ending && service_is_ready(l->service))
        return answering_begin(l, err);
    version_switch(l);
    return 0;
}

static int on_newer(void *arg, struct error *err)
{
    struct life *l = arg;
    eventfd_t n;

    (void)err;
    eventfd_read(l->newer, &n);
    free(l->pending);
    l->pending = follower_take(l->follower);
    pending_begin(l);
    return 0;
}

static int on_look(void *arg, struct error *err)
{
    (void)arg;
    (void)err;
    return 0; /* the loop turns */
}

static int on_stop(void *arg, struct error *err)
{
    struct life *l = arg;

    stop_request_read(&l->stop);
    if (l->ending) {
        l->end_by = clock_now(); /* the second one means now */
        return 0;
    }
    l->ending = true;
    l->end_by = clock_now() + l->o->config->timeout_s;
    say(l, "%s: no new requests; a second one stops at once",
        strsignal(l->stop.signal));
    service_drain(
        l->service); /* clients that ask now get 503, and may ask another one */
    return event_loop_every(l->loop, LOOK_S, on_look, l, &l->timer, err);
}

/* ---- The end ---- */

static bool is_over(const struct life *l)
{
    return l->failed ||
           (l->ending && (service_is_idle(l->service) || clock_now() >= l->end_by));
}

/* The front sends what has been answered; then the workers lose their connections, and end. */
static void workers_end(struct life *l)
{
    double until = clock_now() + GRACE_S;
    struct error err;

    if (l->service)
        service_stop(l->service);
    front_destroy(l->front);
    l->front = NULL;
    service_destroy(l->service);
    l->service = NULL;
    if (!l->crew)
        return;
    crew_retire(l->crew, l->next.group);
    crew_retire(l->crew, l->now.group);
    while (crew_groups(l->crew) > 0 && clock_now() < until && l->stop.count < 2)
        if (event_loop_turn(l->loop, LOOK_S, &err) < 0)
            break;
}

static void life_clear(struct life *l)
{
    follower_stop(l->follower);
    workers_end(l);
    crew_destroy(l->crew);
    listening_close(&l->at);
    if (l->timer >= 0)
        event_loop_remove(l->loop, l->timer);
    if (l->stop.fd >= 0) {
        event_loop_remove(l->loop, l->stop.fd);
        stop_request_close(&l->stop);
    }
    event_loop_destroy(l->loop);
    if (!l->failed) /* its logs are needed then */
        place_remove(l->place);
    if (l->sockets_lock >= 0) {
        place_remove(l->sockets);
        close(l->sockets_lock);
    }
    if (l->log > STDERR_FILENO)
        close(l->log);
    close(l->changed);
    close(l->newer);
    version_clear(&l->now);
    version_clear(&l->next);
    free(l->place);
    free(l->runs);
    free(l->token);
    free(l->token_path);
    free(l->pending);
    free(l->cert);
    free(l->key);
}

/* ---- The life ---- */

static int events_make(struct life *l, struct error *err)
{
    l->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->newer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->changed < 0 || l->newer < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make an eventfd: %s",
                         strerror(errno));
    if (event_loop_create(&l->loop, err) < 0 || stop_request_open(&l->stop, err) < 0)
        return -1;
    return event_loop_add(l->loop, l->stop.fd, on_stop, l, err) < 0 ||
                   event_loop_add(l->loop, l->changed, on_changed, l, err) < 0 ||
                   event_loop_add(l->loop, l->newer, on_newer, l, err) < 0
               ? -1
               : 0;
}

static int places_make(struct life *l, struct error *err)
{
    l->sockets_lock = private_dir_make(l->sockets, SOCKET_MOST);
    if (l->sockets_lock < 0)
        return fs_error(err, "create", l->sockets);
    if (place_make(l->o->run, &l->place, err) < 0)
        return -1;
    if (asprintf(&l->runs, "%s/workers", l->place) < 0) {
        l->runs = NULL;
        return no_memory(err);
    }
    return fs_mkdirs(l->runs, 0700, err);
}

static int file_read(const char *path, char **text, struct error *err)
{
    return path ? fs_read(path, text, NULL, err) : 0;
}

static int log_open(struct life *l, struct error *err)
{
    const char *path = l->o->config->access_log;

    if (!path)
        return 0;
    l->log = strcmp(path, "-") == 0
                 ? STDERR_FILENO
                 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    return l->log < 0 ? fs_error(err, "open", path) : 0;
}

/* An address that other machines reach needs a token. */
static int address_open(struct life *l, struct error *err)
{
    const struct serve_config *config = l->o->config;
    char *own = NULL;
    int rc;

    if (!config->listen && asprintf(&own, "unix:%s/http", l->sockets) < 0)
        return no_memory(err);
    rc = listening_open(own ? own : config->listen, true, &l->at, err);
    free(own);
    if (rc < 0 || (l->at.is_local && !config->token_file))
        return rc;
    if (config->token_file)
        l->token_path = strdup(config->token_file);
    else if (asprintf(&l->token_path, "%s/token", l->place) < 0)
        l->token_path = NULL;
    return l->token_path ? token_open(l->token_path, &l->token, err) : no_memory(err);
}

static int service_make(struct life *l, struct error *err)
{
    const struct serve_config *config = l->o->config;
    struct service_options options = {
        .name = l->o->model,
        .limits = {.batch = (uint64_t)config->max_batch,
                   .wait_s = config->max_wait_us / 1e6,
                   .queue = (size_t)config->queue,
                   .answer_s = config->timeout_s},
        .say = on_sentence,
        .changed = on_service,
        .attach = served_model_make,
        .detach = served_model_free,
        .arg = l,
    };

    if (service_create(&options, &l->service, err) < 0)
        return -1;
    return service_start(l->service, err);
}

static int crew_make(struct life *l, struct error *err)
{
    struct crew_config config = {.loop = l->loop,
                                 .argv = l->o->argv,
                                 .sockets = l->sockets,
                                 .runs = l->runs,
                                 .workers = l->o->workers,
                                 .max_failures = l->o->max_failures,
                                 .grace_s = l->o->config->timeout_s + GRACE_S,
                                 .joined = on_joined,
                                 .ready = on_ready,
                                 .gone = on_gone,
                                 .note = on_sentence,
                                 .arg = l};

    return crew_create(&config, &l->crew, err);
}

static int life_begin(struct life *l, struct error *err)
{
    const struct serve_config *config = l->o->config;

    if (events_make(l, err) < 0 || places_make(l, err) < 0 ||
        file_read(config->tls_cert, &l->cert, err) < 0 ||
        file_read(config->tls_key, &l->key, err) < 0 || log_open(l, err) < 0 ||
        address_open(l, err) < 0 || service_make(l, err) < 0 || crew_make(l, err) < 0 ||
        version_start(l, &l->now, l->o->checkpoint, err) < 0)
        return -1;
    return config->follow ? follower_start(l->o->checkpoint, l->o->choose, l->o->arg,
                                           l->newer, &l->follower, err)
                          : 0;
}

int life_run(const struct life_options *options, struct error *err)
{
    struct life l = {.o = options,
                     .stop = STOP_REQUEST_INIT,
                     .sockets_lock = -1,
                     .log = -1,
                     .at = {.fd = -1},
                     .changed = -1,
                     .newer = -1,
                     .now = {.group = -1},
                     .next = {.group = -1},
                     .timer = -1};
    struct error why;
    int rc = life_begin(&l, &why);

    while (rc == 0 && !is_over(&l))
        rc = event_loop_turn(l.loop, -1, &why);
    if (rc < 0)
        fail(&l, &why);
    if (l.failed)
        *err = l.why;
    rc = l.failed ? -1 : 0;
    life_clear(&l);
    return rc;
}
