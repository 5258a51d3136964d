/*
 * life.c - in order:
 *
 *   Messages
 *   Answering      from the first worker of each model that is ready
 *   What happens   to models (live_model.h), and signals
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

#include "event/event_loop.h"
#include "event/stop_request.h"
#include "http/front.h"
#include "http/token.h"
#include "life/live_model.h"
#include "place/place.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/private_dir.h"

#define SOCKET_MOST 64  /* bytes of the path of the directory of sockets */
#define LOOK_S      0.1 /* interval of checks whether all is answered, at the end */

struct life {
    const struct life_options *o;
    struct live_env env;
    struct live_model *models;
    size_t n_models;           /* those that have begun */
    struct service **services; /* their services, for */
    struct event_loop *loop;
    struct stop_request stop;
    char sockets[PATH_MAX];
    int sockets_lock; /* -1: there is no directory */
    int place_lock;   /* -1: there is no place */
    char *place, *runs;
    char *token, *token_path; /* NULL: clients need none */
    char *cert, *key;
    int log; /* -1: none */
    struct listening at;
    struct front *front;
    bool failed;
    double end_by; /* clock_now() */
    int timer;     /* -1: none */
    struct error why;
};

static struct live_model *models_end(const struct life *l)
{
    return l->models + l->n_models;
}

/* ---- Messages ---- */

static void life_say(struct life *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void life_say(struct life *l, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    l->o->say(l->o->arg, text);
}

/* ---- Answering ---- */

/* Write the address for clients, and print what to type. */
static int address_tell(struct life *l, const struct place_address *address,
                        struct error *err)
{
    char *curl;

    if (place_write(l->place, address, err) < 0)
        return -1;
    curl = place_curl(address);
    if (curl)
        life_say(l, "to ask it, type: %s", curl);
    free(curl);
    return 0;
}

static int address_write(struct life *l, struct error *err)
{
    const struct serve_config *config = l->o->config;
    const char *scheme = config->tls_cert ? "https" : "http";
    char *url, *name, *address, text[PATH_MAX + 8];
    int rc;

    strcpy(text, l->at.text);
    if (config->tls_cert)
        listening_name(&l->at, text);
    if (place_name(l->at.is_unix ? "localhost" : text, &name, &address, err) < 0)
        return -1;
    rc = asprintf(&url, "%s://%s", scheme, name) < 0 ? error_no_memory(err) : 0;
    if (rc == 0) {
        rc = address_tell(l,
                          &(struct place_address){
                              .model = l->o->n_models == 1 ? l->models->o->name : NULL,
                              .url = url,
                              .socket = l->at.is_unix ? l->at.path : NULL,
                              .address = address,
                              .token_file = l->token_path,
                              .tls_cert = config->tls_cert},
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
                                    .services = l->services,
                                    .n_services = l->o->n_models};

    options.limits.body = config->max_body;
    if (options.limits.bodies < 2 * config->max_body)
        options.limits.bodies = 2 * config->max_body;
    options.limits.clients = (size_t)config->max_connections;
    options.limits.client_s = config->timeout_s;
    if (front_create(&options, &l->front, err) < 0)
        return -1;
    for (struct live_model *m = l->models; m < models_end(l); m++)
        life_say(l, "serving %s as %s at %s%s%s", m->now.checkpoint, m->o->name,
                 l->at.is_unix ? ""
                 : l->cert     ? "https://"
                               : "http://",
                 l->at.text,
                 l->at.is_local && !l->at.is_unix ? ", which only this machine reaches"
                                                  : "");
    return address_write(l, err);
}

/* ---- What happens ---- */

static void life_fail(struct life *l, const struct error *err)
{
    if (!l->failed)
        l->why = *err;
    l->failed = true;
}

static bool all_dead(const struct life *l)
{
    for (const struct live_model *m = l->models; m < models_end(l); m++)
        if (!m->is_dead)
            return false;
    return true;
}

/* Requests that the model has accepted wait for a next version, and get 503 in the
 * end. */
static void on_lost(void *arg, struct live_model *m, const struct error *why)
{
    struct life *l = arg;
    struct error err;

    if (l->env.ending) /* it was signalled, too */
        return;
    if (l->front && !all_dead(l)) {
        live_model_say(m, "no worker is left: %s; the other models continue",
                       why->text);
        return;
    }
    error_set(&err, why->code, "no worker is left: %s", why->text);
    if (l->o->n_models > 1)
        error_prefix(&err, "%s", m->o->name);
    life_fail(l, &err);
}

static int on_changed(void *arg, struct error *err)
{
    struct life *l = arg;
    bool all_ready = true;
    eventfd_t n;

    eventfd_read(l->env.changed, &n);
    for (struct live_model *m = l->models; m < models_end(l); m++) {
        live_model_changed(m);
        all_ready = all_ready && m->was_ready;
    }
    if (l->front || l->env.ending || l->failed || !all_ready)
        return 0;
    return answering_begin(l, err);
}

static int on_newer(void *arg, struct error *err)
{
    struct life *l = arg;
    eventfd_t n;

    (void)err;
    eventfd_read(l->env.newer, &n);
    for (struct live_model *m = l->models; m < models_end(l); m++)
        live_model_newer(m);
    return 0;
}

static int on_look(void *arg, struct error *err)
{
    (void)arg;
    (void)err;
    return 0; /* the loop runs */
}

static int on_stop(void *arg, struct error *err)
{
    struct life *l = arg;

    stop_request_read(&l->stop);
    if (l->env.ending) {
        if (l->stop.hurried)
            l->end_by = clock_now();
        return 0;
    }
    l->env.ending = true;
    l->end_by = clock_now() + l->o->config->timeout_s;
    life_say(l, "%s: no new requests; %s", strsignal(l->stop.signal),
             stop_request_hint(&l->stop));
    /* From now on requests get 503, so that clients try another service. */
    for (struct live_model *m = l->models; m < models_end(l); m++)
        service_drain(m->service);
    return event_loop_every(l->loop, LOOK_S, on_look, l, &l->timer, err);
}

/* ---- The end ---- */

static bool all_answered(const struct life *l)
{
    for (const struct live_model *m = l->models; m < models_end(l); m++)
        if (!live_model_is_answered(m))
            return false;
    return true;
}

static bool life_is_over(const struct life *l)
{
    return l->failed ||
           (l->env.ending && (all_answered(l) || clock_now() >= l->end_by));
}

static size_t groups_left(const struct life *l)
{
    size_t n = 0;

    for (const struct live_model *m = l->models; m < models_end(l); m++)
        n += live_model_groups(m);
    return n;
}

/* The front sends the answers that exist; then the workers' connections are closed, and
 * they end. */
static void workers_end(struct life *l)
{
    double until = clock_now() + WORKER_GRACE_S;
    struct error err;

    for (struct live_model *m = l->models; m < models_end(l); m++)
        if (m->service)
            service_stop(m->service);
    front_destroy(l->front);
    l->front = NULL;
    for (struct live_model *m = l->models; m < models_end(l); m++)
        live_model_end(m);
    while (groups_left(l) > 0 && clock_now() < until && !l->stop.hurried)
        if (event_loop_turn(l->loop, LOOK_S, &err) < 0)
            break;
}

static void life_clear(struct life *l)
{
    for (struct live_model *m = l->models; m < models_end(l); m++)
        follower_stop(m->follower);
    workers_end(l);
    for (struct live_model *m = l->models; m < models_end(l); m++)
        live_model_clear(m);
    listening_close(&l->at);
    if (l->timer >= 0)
        event_loop_remove(l->loop, l->timer);
    if (l->stop.fd >= 0) {
        event_loop_remove(l->loop, l->stop.fd);
        stop_request_close(&l->stop);
    }
    event_loop_destroy(l->loop);
    if (!l->failed) /* keep its logs */
        place_remove(l->place);
    if (l->place_lock >= 0)
        close(l->place_lock);
    if (l->sockets_lock >= 0) {
        place_remove(l->sockets);
        close(l->sockets_lock);
    }
    if (l->log > STDERR_FILENO)
        close(l->log);
    close(l->env.changed);
    close(l->env.newer);
    free(l->models);
    free(l->services);
    free(l->place);
    free(l->runs);
    free(l->token);
    free(l->token_path);
    free(l->cert);
    free(l->key);
}

/* ---- The life ---- */

static int events_make(struct life *l, struct error *err)
{
    l->env.changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->env.newer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->env.changed < 0 || l->env.newer < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make an eventfd: %s",
                         strerror(errno));
    l->stop.in_job = l->o->in_job;
    if (event_loop_create(&l->loop, err) < 0 || stop_request_open(&l->stop, err) < 0)
        return -1;
    return event_loop_add(l->loop, l->stop.fd, on_stop, l, err) < 0 ||
                   event_loop_add(l->loop, l->env.changed, on_changed, l, err) < 0 ||
                   event_loop_add(l->loop, l->env.newer, on_newer, l, err) < 0
               ? -1
               : 0;
}

static int life_places_make(struct life *l, struct error *err)
{
    l->sockets_lock = private_dir_make(l->sockets, SOCKET_MOST);
    if (l->sockets_lock < 0)
        return fs_error(err, "create", l->sockets);
    if (place_make(l->o->place, &l->place, &l->place_lock, err) < 0)
        return -1;
    if (asprintf(&l->runs, "%s/workers", l->place) < 0) {
        l->runs = NULL;
        return error_no_memory(err);
    }
    return fs_mkdirs(l->runs, 0700, err);
}

static int file_read(const char *path, char **text, struct error *err)
{
    return path ? fs_read(path, text, NULL, err) : 0;
}

/* Opening a FIFO without a reader would block. */
static int log_open(struct life *l, struct error *err)
{
    const char *path = l->o->config->access_log;
    int flags;

    if (!path)
        return 0;
    if (strcmp(path, "-") == 0) {
        l->log = STDERR_FILENO;
        return 0;
    }
    l->log = open(
        path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (l->log < 0 && errno == ENXIO)
        return error_set(err, RAYTRAIN_EINVAL,
                         "--access-log: no process reads from %s; start the one that "
                         "reads it first",
                         path);
    if (l->log < 0)
        return fs_error(err, "open", path);
    flags = fcntl(l->log, F_GETFL);
    return flags < 0 || fcntl(l->log, F_SETFL, flags & ~O_NONBLOCK) < 0
               ? fs_error(err, "open", path)
               : 0;
}

/* Only this user can connect to the Unix socket, but any user of this machine to a
 * local port. */
static bool needs_token(const struct life *l)
{
    const struct serve_config *config = l->o->config;

    return config->token_file || !(l->at.is_unix || config->no_token);
}

static int address_open(struct life *l, struct error *err)
{
    const struct serve_config *config = l->o->config;
    char *own = NULL;
    int rc;

    if (!config->listen && asprintf(&own, "unix:%s/http", l->sockets) < 0)
        return error_no_memory(err);
    rc = listening_open(own ? own : config->listen, !config->no_token, &l->at, err);
    free(own);
    if (rc < 0 || !needs_token(l))
        return rc;
    if (config->token_file)
        l->token_path = strdup(config->token_file);
    else if (asprintf(&l->token_path, "%s/token", l->place) < 0)
        l->token_path = NULL;
    return l->token_path ? token_open(l->token_path, &l->token, err)
                         : error_no_memory(err);
}

static int models_make(struct life *l, struct error *err)
{
    l->env.o = l->o;
    l->env.loop = l->loop;
    l->env.sockets = l->sockets;
    l->env.runs = l->runs;
    l->models = calloc(l->o->n_models, sizeof *l->models);
    l->services = calloc(l->o->n_models, sizeof(struct service *));
    if (!l->models || !l->services)
        return error_no_memory(err);
    for (; l->n_models < l->o->n_models; l->n_models++) {
        struct live_model *m = &l->models[l->n_models];

        if (live_model_begin(m, &l->env, (int)l->n_models, err) < 0) {
            l->n_models++;
            return l->o->n_models > 1 ? error_prefix(err, "%s", m->o->name) : -1;
        }
        l->services[l->n_models] = m->service;
    }
    return 0;
}

static int life_begin(struct life *l, struct error *err)
{
    const struct serve_config *config = l->o->config;

    return events_make(l, err) < 0 || life_places_make(l, err) < 0 ||
                   file_read(config->tls_cert, &l->cert, err) < 0 ||
                   file_read(config->tls_key, &l->key, err) < 0 ||
                   log_open(l, err) < 0 || address_open(l, err) < 0
               ? -1
               : models_make(l, err);
}

int life_run(const struct life_options *options, struct error *err)
{
    struct life l = {.o = options,
                     .stop = STOP_REQUEST_INIT,
                     .sockets_lock = -1,
                     .place_lock = -1,
                     .log = -1,
                     .at = {.fd = -1},
                     .env = {.changed = -1, .newer = -1, .lost = on_lost, .arg = &l},
                     .timer = -1};
    struct error why;
    int rc = life_begin(&l, &why);

    while (rc == 0 && !life_is_over(&l))
        rc = event_loop_turn(l.loop, -1, &why);
    if (rc < 0)
        life_fail(&l, &why);
    if (l.failed)
        *err = l.why;
    rc = l.failed ? -1 : 0;
    life_clear(&l);
    return rc;
}
