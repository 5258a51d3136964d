/* outlet.c - a thread that writes, and the text that it has not written yet. */
#include "config.h"
#include "event/outlet.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/thread.h"

#define PROMPT_S 0.1 /* share of each second in which calls may wait for their text */

static const char dropped[] = "\n[raytrain: some output was dropped, since it was not "
                              "read in time]\n";

struct outlet {
    int fd;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    bool has_thread;
    bool closed;           /* the owner has left: the thread frees it */
    bool writing;          /* the thread is writing */
    /* how long calls have waited in the second that began then */
    double second, waited;
    char before[OUTLET_BEFORE_MAX]; /* text to print before the next one */
    size_t used;
    char text[OUTLET_KEEPS_BYTES];  /* not yet written */
    char taken[OUTLET_KEEPS_BYTES]; /* the thread's own */
};

static void outlet_free(struct outlet *o)
{
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* ---- the thread ---- */

/* A descriptor may have O_NONBLOCK from a process that shares it. */
static void write_all(int fd, const char *text, size_t n)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    while (n > 0) {
        ssize_t done = write(fd, text, n);

        if (done > 0) {
            text += done;
            n -= (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            poll(&p, 1, -1);
        } else if (done == 0 || errno != EINTR) {
            return;
        }
    }
}

static void *outlet_main(void *self)
{
    struct outlet *o = self;
    size_t n;

    pthread_mutex_lock(&o->lock);
    while (!o->closed) {
        if (o->used == 0) {
            pthread_cond_wait(&o->changed, &o->lock);
            continue;
        }
        n = o->used;
        memcpy(o->taken, o->text, n);
        o->used = 0;
        o->writing = true;
        pthread_mutex_unlock(&o->lock);
        write_all(o->fd, o->taken, n);
        pthread_mutex_lock(&o->lock);
        o->writing = false;
        pthread_cond_broadcast(&o->changed);
    }
    pthread_mutex_unlock(&o->lock);
    outlet_free(o);
    return NULL;
}

/* ---- its owner ---- */

static int outlet_thread(struct outlet *o, struct error *err)
{
    pthread_t thread;

    if (thread_start(&thread, outlet_main, o, err) < 0)
        return -1;
    pthread_detach(thread); /* a write may block forever */
    o->has_thread = true;
    return 0;
}

static struct outlet *outlet_new(int fd)
{
    struct outlet *o = calloc(1, sizeof *o);
    pthread_condattr_t monotonic;

    if (!o)
        return NULL;
    o->fd = fd;
    pthread_mutex_init(&o->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&o->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return o;
}

int outlet_create(int fd, struct outlet **out, struct error *err)
{
    *out = outlet_new(fd);
    if (!*out)
        return error_no_memory(err);
    if (outlet_thread(*out, err) == 0)
        return 0;
    outlet_free(*out);
    return -1;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct outlet *messages, *output;

static void standard_open(void)
{
    messages = outlet_new(STDERR_FILENO);
    output = outlet_new(STDOUT_FILENO);
}

struct outlet *outlet_messages(void)
{
    pthread_once(&once, standard_open);
    return messages;
}

struct outlet *outlet_output(void)
{
    pthread_once(&once, standard_open);
    return output;
}

static bool wait_written(struct outlet *o, double seconds)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)(fmod(seconds, 1) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    while ((o->used > 0 || o->writing) && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&o->changed, &o->lock, &until);
    return o->used == 0 && !o->writing;
}

/* If the descriptor accepts text at once, it is written in the order of the calls, and
 * before anything that this process does next. */
static void wait_promptly(struct outlet *o)
{
    double now = clock_now();

    if (now - o->second >= 1) {
        o->second = now;
        o->waited = 0;
    }
    if (o->waited < PROMPT_S)
        wait_written(o, PROMPT_S - o->waited);
    o->waited += clock_now() - now;
}

static void text_keep(struct outlet *o, const char *text, size_t n)
{
    const size_t room = sizeof o->text - sizeof dropped;

    if (n > room)
        n = room;
    if (n > sizeof o->text - o->used) {
        memcpy(o->text, dropped, sizeof dropped - 1);
        o->used = sizeof dropped - 1;
    }
    memcpy(o->text + o->used, text, n);
    o->used += n;
}

/* Without a thread: write the text now, or drop it. */
static void text_write(struct outlet *o, const char *text, size_t n)
{
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};

    if (poll(&p, 1, (int)(PROMPT_S * 1e3)) > 0)
        write_all(o->fd, text, n);
}

static void text_put(struct outlet *o, const char *text, size_t n)
{
    size_t before;

    pthread_mutex_lock(&o->lock);
    before = strlen(o->before);
    if (!o->has_thread && outlet_thread(o, NULL) < 0) {
        if (before > 0)
            text_write(o, o->before, before);
        text_write(o, text, n);
    } else {
        text_keep(o, o->before, before);
        text_keep(o, text, n);
        pthread_cond_broadcast(&o->changed);
        wait_promptly(o);
    }
    o->before[0] = '\0';
    pthread_mutex_unlock(&o->lock);
}

void outlet_precede(struct outlet *o, const char *before)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    snprintf(o->before, sizeof o->before, "%s", before);
    pthread_mutex_unlock(&o->lock);
}

bool outlet_precedes(struct outlet *o)
{
    bool precedes;

    if (!o)
        return false;
    pthread_mutex_lock(&o->lock);
    precedes = o->before[0] != '\0';
    pthread_mutex_unlock(&o->lock);
    return precedes;
}

void outlet_write(struct outlet *o, const char *text, size_t n)
{
    if (o && n > 0)
        text_put(o, text, n);
}

void outlet_vprint(struct outlet *o, const char *fmt, va_list ap)
{
    char *text = NULL;
    int n = o ? vasprintf(&text, fmt, ap) : -1;

    if (n > 0)
        text_put(o, text, (size_t)n);
    if (n >= 0)
        free(text);
}

void outlet_print(struct outlet *o, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    outlet_vprint(o, fmt, ap);
    va_end(ap);
}

bool outlet_flush(struct outlet *o, double seconds)
{
    bool written;

    if (!o)
        return true;
    pthread_mutex_lock(&o->lock);
    written = wait_written(o, seconds);
    pthread_mutex_unlock(&o->lock);
    return written;
}

void outlet_destroy(struct outlet *o)
{
    bool has_thread;

    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->closed = true;
    has_thread = o->has_thread;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    if (!has_thread)
        outlet_free(o);
}
