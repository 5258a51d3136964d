/*
 * serve_front.c - the front of a service whose workers are threads of this process, for
 * t/1520-serve-front.t.
 *
 *   serve_front [--NAME VALUE]... ADDRESS
 *
 * The model "m" has the inputs x (two float32) and t (text), and the outputs y, the sum of x,
 * and u, which is t. A worker refuses rows with x[0] = 400, and ends when it sees 666. With
 * --idle NAME there is a second model, which has no worker.
 *
 * It prints the address that it listens on, and then reads commands, a line each, and
 * prints "ok" when it has done one: `worker VERSION` starts one, `kill` ends one, `hold` lets
 * workers not answer until `go`, `taken N` waits until workers have taken N batches, `switch
 * VERSION`, `drain`. At the end of the commands it stops.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/front.h"
#include "http/served_model.h"
#include "http/token.h"
#include "service/service.h"
#include "util/fs.h"

#define WORKERS_MAX 32

static struct service_column inputs[] = {
    {.name = "x", .row = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {2}}},
    {.name = "t", .kind = SERVICE_TEXT},
};
static struct service_column outputs[] = {
    {.name = "y", .row = {.dtype = RAYTRAIN_FLOAT32}},
    {.name = "u", .kind = SERVICE_TEXT},
};

struct worker {
    pthread_t thread;
    int fd;
    int64_t version;
};

static struct worker workers[WORKERS_MAX];
static int n_workers;
static struct service *service;
static const char *workers_socket;

/* What the commands change, and what they wait for. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static bool is_held;
static long n_taken;

static void die(const struct error *err)
{
    fprintf(stderr, "serve_front: %s\n", err->text);
    exit(1);
}

/* ---- Workers ---- */

static bool message_send(int fd, enum service_kind kind, uint64_t id, uint64_t rows,
                         const void *payload, uint64_t n)
{
    struct service_writer out;
    struct error err;

    service_writer_begin(&out, kind, id, rows, payload, n);
    return service_write(&out, fd, &err) == SERVICE_DONE;
}

static bool hello_send(const struct worker *w)
{
    const struct service_hello hello = {.version = w->version,
                                        .pid = w - workers,
                                        .inputs = inputs,
                                        .n_inputs = 2,
                                        .outputs = outputs,
                                        .n_outputs = 2};
    struct error err;
    char *text;
    size_t n;
    bool sent;

    if (service_hello_write(&hello, &text, &n, &err) < 0)
        die(&err);
    sent = message_send(w->fd, SERVICE_HELLO, 0, 0, text, n);
    free(text);
    return sent;
}

static void wait_for_go(void)
{
    pthread_mutex_lock(&lock);
    n_taken++;
    pthread_cond_broadcast(&change);
    while (is_held)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

/* False: the worker ends. */
static bool answer(int fd, const struct service_reader *in)
{
    uint64_t rows = in->header.rows, texts[2] = {0}, places[2], n;
    struct service_rows found[2];
    unsigned char *payload;
    struct error err;
    bool goes_on = true;

    if (service_find(inputs, 2, rows, in->payload, in->header.bytes, found, &err) < 0)
        die(&err);
    texts[1] = found[1].offsets[rows];
    if (service_layout(outputs, 2, rows, texts, places, &n, &err) < 0)
        die(&err);
    payload = calloc(1, n);
    for (uint64_t i = 0; payload && i < rows; i++) {
        const float *x = (const float *)(const void *)found[0].data + 2 * i;

        if (x[0] == 666)
            goes_on = false;
        if (x[0] == 400) {
            free(payload);
            return message_send(fd, SERVICE_FAILED, in->header.id, RAYTRAIN_EINVAL,
                                "x is 400", 8);
        }
        ((float *)(void *)(payload + places[0]))[i] = x[0] + x[1];
    }
    if (payload) {
        memcpy(payload + places[1], found[1].offsets, (rows + 1) * sizeof(uint64_t));
        memcpy(payload + places[1] + (rows + 1) * sizeof(uint64_t), found[1].data,
               texts[1]);
        goes_on = goes_on &&
                  message_send(fd, SERVICE_RESULT, in->header.id, rows, payload, n);
    }
    free(payload);
    return goes_on;
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;
    struct service_reader in;
    struct error err;

    service_reader_init(&in, SERVICE_MAX);
    if (hello_send(w))
        while (service_read(&in, w->fd, &err) == SERVICE_DONE) {
            wait_for_go();
            if (!answer(w->fd, &in))
                break;
        }
    service_reader_clear(&in);
    shutdown(w->fd, SHUT_RDWR);
    return NULL;
}

static void worker_start(int64_t version)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct worker *w = &workers[n_workers++];
    struct error err;

    snprintf(address.sun_path, sizeof address.sun_path, "%s", workers_socket);
    w->version = version;
    w->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (w->fd < 0 || connect(w->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        pthread_create(&w->thread, NULL, worker_run, w) != 0) {
        error_set(&err, RAYTRAIN_EFAILED, "no worker");
        die(&err);
    }
}

static void workers_end(void)
{
    for (int i = 0; i < n_workers; i++) {
        shutdown(workers[i].fd, SHUT_RDWR);
        pthread_join(workers[i].thread, NULL);
        close(workers[i].fd);
    }
}

/* ---- Commands ---- */

/* A worker has come or gone, or a version has ended. */
static void changed(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

static void workers_await(int64_t version, size_t more)
{
    pthread_mutex_lock(&lock);
    while (service_workers(service, version) != more)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

static void hold(bool held)
{
    pthread_mutex_lock(&lock);
    is_held = held;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

static void taken_await(long n)
{
    pthread_mutex_lock(&lock);
    while (n_taken < n)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

/* The oldest one that lives. */
static void worker_kill(void)
{
    static int next;
    int64_t version = workers[next].version;
    size_t n = service_workers(service, version);

    shutdown(workers[next++].fd, SHUT_RDWR);
    if (n > 0) /* else its version was replaced, and is not counted */
        workers_await(version, n - 1);
}

static void command_do(const char *line)
{
    struct error err;
    char name[16] = "";
    long n = 0;

    sscanf(line, "%15s %ld", name, &n);
    if (strcmp(name, "worker") == 0) {
        size_t before = service_workers(service, n);

        worker_start(n);
        workers_await(n, before + 1);
    } else if (strcmp(name, "kill") == 0) {
        worker_kill();
    } else if (strcmp(name, "taken") == 0) {
        taken_await(n);
    } else if (strcmp(name, "hold") == 0 || strcmp(name, "go") == 0) {
        hold(name[0] == 'h');
    } else if (strcmp(name, "drain") == 0) {
        service_drain(service);
    } else if (strcmp(name, "switch") == 0) {
        if (service_switch(service, n, &err) < 0)
            die(&err);
    } else {
        error_set(&err, RAYTRAIN_EUSAGE, "unknown command: %s", line);
        die(&err);
    }
    puts("ok");
}

/* ---- Options ---- */

struct settings {
    struct front_options front;
    struct service_options service;
    const char *idle; /* a second model, which gets no worker; NULL: none */
    char *token, *cert, *key;
};

static void option_take(struct settings *s, const char *name, const char *value)
{
    struct error err;

    if (strcmp(name, "--token-file") == 0) {
        if (token_open(value, &s->token, &err) < 0)
            die(&err);
        s->front.token = s->token;
    } else if (strcmp(name, "--tls-cert") == 0) {
        if (fs_read(value, &s->cert, NULL, &err) < 0)
            die(&err);
        s->front.cert = s->cert;
    } else if (strcmp(name, "--tls-key") == 0) {
        if (fs_read(value, &s->key, NULL, &err) < 0)
            die(&err);
        s->front.key = s->key;
    } else if (strcmp(name, "--clients") == 0) {
        s->front.limits.clients = strtoul(value, NULL, 10);
    } else if (strcmp(name, "--client-s") == 0) {
        s->front.limits.client_s = strtod(value, NULL);
    } else if (strcmp(name, "--body") == 0) {
        s->front.limits.body = strtoul(value, NULL, 10);
    } else if (strcmp(name, "--bodies") == 0) {
        s->front.limits.bodies = strtoul(value, NULL, 10);
    } else if (strcmp(name, "--answers") == 0) {
        s->front.limits.answers = strtoul(value, NULL, 10);
    } else if (strcmp(name, "--queue") == 0) {
        s->service.limits.queue = strtoul(value, NULL, 10);
    } else if (strcmp(name, "--batch") == 0) {
        s->service.limits.batch = strtoul(value, NULL, 10);
    } else if (strcmp(name, "--idle") == 0) {
        s->idle = value;
    } else if (strcmp(name, "--workers-socket") == 0) {
        workers_socket = value;
    } else {
        error_set(&err, RAYTRAIN_EUSAGE, "unknown option %s", name);
        die(&err);
    }
}

/* The second model: NULL if there is none. */
static struct service *idle_start(const char *name)
{
    struct service_options options = {
        .name = name, .attach = served_model_make, .detach = served_model_free};
    struct service *idle = NULL;
    struct error err;

    if (name &&
        (service_create(&options, &idle, &err) < 0 || service_start(idle, &err) < 0))
        die(&err);
    return idle;
}

int main(int argc, char *argv[])
{
    struct service *services[2];
    struct settings s = {
        .front = {.version = "0", .limits = FRONT_LIMITS, .log = 2},
        .service = {.name = "m",
                    .limits = {.batch = 8, .queue = 64, .answer_s = 60},
                    .changed = changed,
                    .attach = served_model_make,
                    .detach = served_model_free}};
    struct listening at;
    struct front *front;
    struct error err;
    char line[128];
    int i;

    workers_socket = "./workers";
    for (i = 1; i + 1 < argc; i += 2)
        option_take(&s, argv[i], argv[i + 1]);
    s.service.socket = workers_socket;
    if (listening_open(i < argc ? argv[i] : "", s.front.token != NULL, &at, &err) < 0 ||
        service_create(&s.service, &service, &err) < 0 ||
        service_start(service, &err) < 0)
        die(&err);
    s.front.at = &at;
    services[0] = service;
    services[1] = idle_start(s.idle);
    s.front.services = services;
    s.front.n_services = s.idle ? 2 : 1;
    if (front_create(&s.front, &front, &err) < 0)
        die(&err);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts(at.text);
    while (fgets(line, sizeof line, stdin))
        command_do(line);
    service_stop(service);
    front_destroy(front);
    service_destroy(service);
    service_destroy(services[1]);
    hold(false);
    workers_end();
    listening_close(&at);
    free(s.token);
    free(s.cert);
    free(s.key);
    return 0;
}
