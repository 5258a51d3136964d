/*
 * front.c - the HTTP server on top of libmicrohttpd. Sections: clients that come and
 * go, the daemon, and the life of the front. clients.c limits the clients, turns.c
 * handles a request.
 */
#include "http/front.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "http/turns.h"
#include "util/clock.h"
#include "util/thread.h"

/* How often to look for late clients. */
#define EXPIRE_S 0.5
/* How long clients may take to read their last answers. */
#define SETTLE_S 5
/* Descriptors that are not available to clients. */
#define OTHER_FILES 256

/* ---- Clients that come and go ---- */

static void client_change(void *front, struct MHD_Connection *connection, void **client,
                          enum MHD_ConnectionNotificationCode what)
{
    struct front *f = front;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *client = info ? clients_add(f->clients, info->connect_fd, clock_now()) : NULL;
    } else {
        clients_remove(f->clients, *client);
        *client = NULL;
    }
}

/* MHD_quiesce_daemon() would do this, too, but races with its own threads, and ends the
 * process if it loses (0.9.75). */
static enum MHD_Result client_admit(void *front, const struct sockaddr *address,
                                    socklen_t n)
{
    struct front *f = front;

    (void)address;
    (void)n;
    return atomic_load(&f->is_quiet) ? MHD_NO : MHD_YES;
}

static void *expire_run(void *front)
{
    struct front *f = front;
    struct timespec until;

    pthread_mutex_lock(&f->lock);
    while (!f->is_ending) {
        clients_expire(f->clients, clock_now());
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)(EXPIRE_S * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&f->ended, &f->lock, &until);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static void expire_end(struct front *f)
{
    if (!f->has_thread)
        return;
    pthread_mutex_lock(&f->lock);
    f->is_ending = true;
    pthread_cond_signal(&f->ended);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    f->has_thread = false;
}

/* ---- The daemon ---- */

/* Paths are compared as they arrive: with %2F decoded to a slash, a path would be
 * another one. */
static size_t keep_escapes(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg;
    (void)connection;
    return strlen(text);
}

/* Make room for a descriptor for each client. Returns the number of clients for which
 * there are enough. */
static size_t files_raise(size_t clients)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return clients;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
            return clients;
    }
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < clients + OTHER_FILES)
        return limit.rlim_cur > 2 * OTHER_FILES ? limit.rlim_cur - OTHER_FILES
                                                : limit.rlim_cur / 2;
    return clients;
}

/* libmicrohttpd divides its limit by the number of threads, and one thread may get all
 * clients. So the limit that counts is ours, in clients.h. */
static unsigned daemon_clients(const struct front *f)
{
    return (unsigned)(f->o.limits.clients + 2 * CLIENTS_EXTRA) * f->o.limits.threads;
}

static int daemon_start(struct front *f, struct error *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    int listener =
        fcntl(f->o.at->fd, F_DUPFD_CLOEXEC, 0); /* MHD_stop_daemon() closes it */
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)f->o.cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)f->o.key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0,
         (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL}};

    if (listener < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot copy a descriptor: %s",
                         strerror(errno));
    if (!f->o.cert)
        tls[0].option = MHD_OPTION_END;
    else
        flags |= MHD_USE_TLS;
    f->daemon = MHD_start_daemon(
        flags, 0, client_admit, f, exchange_turn, f, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_THREAD_POOL_SIZE, f->o.limits.threads > 1 ? f->o.limits.threads : 0u,
        MHD_OPTION_CONNECTION_LIMIT, daemon_clients(f),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, f->o.limits.header,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
        NULL, MHD_OPTION_NOTIFY_CONNECTION, client_change, f,
        MHD_OPTION_NOTIFY_COMPLETED, exchange_end, f, MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
    if (f->daemon)
        return 0;
    if (f->o.cert)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "the HTTP server does not start: the certificate or its key may "
            "be wrong; both are PEM, and belong together");
    return error_set(err, RAYTRAIN_EFAILED, "the HTTP server does not start");
}

static int options_check(const struct front_options *o, struct error *err)
{
    if (!o->cert != !o->key)
        return error_set(err, RAYTRAIN_EINVAL,
                         "TLS needs a certificate and its key; give both");
    if (o->cert && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return error_set(
            err, RAYTRAIN_ENOTSUP,
            "this libmicrohttpd was built without TLS; put a server with TLS "
            "in front, or listen on 127.0.0.1 or a socket");
    return 0;
}

/* ---- The life of the front ---- */

static void ended_init(struct front *f)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->ended, &attr);
    pthread_condattr_destroy(&attr);
}

static int start(struct front *f, struct error *err)
{
    f->o.limits.clients = files_raise(f->o.limits.clients);
    if (f->o.limits.threads == 0)
        f->o.limits.threads = 1;
    if (clients_create(&(struct clients_limits){.most = f->o.limits.clients,
                                                .seconds = f->o.limits.client_s,
                                                .answers = f->o.limits.answers},
                       &f->clients, err) < 0)
        return -1;
    if (f->o.log >= 0 && outlet_create(f->o.log, &f->log, err) < 0)
        return -1;
    if (daemon_start(f, err) < 0)
        return -1;
    if (thread_start(&f->thread, expire_run, f, err) < 0)
        return -1;
    f->has_thread = true;
    return 0;
}

int front_create(const struct front_options *options, struct front **out,
                 struct error *err)
{
    struct front *f;

    if (options_check(options, err) < 0)
        return -1;
    f = calloc(1, sizeof *f);
    if (!f)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for the HTTP server");
    f->o = *options;
    ended_init(f);
    if (start(f, err) < 0) {
        front_destroy(f);
        return -1;
    }
    *out = f;
    return 0;
}

/* The caller still owns the socket. */
void front_destroy(struct front *f)
{
    if (!f)
        return;
    expire_end(f);
    if (f->daemon) {
        atomic_store(&f->is_quiet, true);
        clients_settle(f->clients, SETTLE_S);
        MHD_stop_daemon(f->daemon);
    }
    if (f->log) {
        outlet_flush(f->log, 1);
        outlet_destroy(f->log);
    }
    clients_destroy(f->clients);
    pthread_cond_destroy(&f->ended);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
