/*
 * clients.c - a list of clients for each state, the oldest first, and which client is
 * disconnected next.
 */
#include "http/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct client {
    int fd;
    enum client_state state;
    double since;                 /* in this state */
    uint64_t bytes;               /* of the answer that it reads */
    bool is_over;                 /* it is shut down already */
    bool is_extra;                /* it has no slot */
    struct client *older, *newer; /* in the list of its state */
};

/* The clients in one state, in the order in which they entered it. */
struct list {
    struct client *oldest, *newest;
};

struct clients {
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct clients_limits limits;
    size_t extras;
    uint64_t unread; /* bytes of answers of all that are not over */
    struct list lists[CLIENT_STATES];
    struct clients_state counts;
};

int clients_create(const struct clients_limits *limits, struct clients **out,
                   struct error *err)
{
    struct clients *clients = calloc(1, sizeof *clients);
    pthread_condattr_t attr;

    if (!clients)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for clients");
    clients->limits = *limits;
    pthread_mutex_init(&clients->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&clients->change, &attr);
    pthread_condattr_destroy(&attr);
    *out = clients;
    return 0;
}

void clients_destroy(struct clients *clients)
{
    if (!clients)
        return;
    pthread_cond_destroy(&clients->change);
    pthread_mutex_destroy(&clients->lock);
    free(clients);
}

/* ---- Lists ---- */

static void list_add(struct clients *clients, struct client *c)
{
    struct list *list = &clients->lists[c->state];

    c->newer = NULL;
    c->older = list->newest;
    if (c->older)
        c->older->newer = c;
    else
        list->oldest = c;
    list->newest = c;
}

static void list_remove(struct clients *clients, struct client *c)
{
    struct list *list = &clients->lists[c->state];

    if (c->older)
        c->older->newer = c->newer;
    else
        list->oldest = c->newer;
    if (c->newer)
        c->newer->older = c->older;
    else
        list->newest = c->older;
}

/* ---- Clients ---- */

/* The memory of the answer is freed in a moment, by the thread that serves the
 * client. */
static void bytes_forget(struct clients *clients, struct client *c)
{
    clients->unread -= c->bytes;
    c->bytes = 0;
}

static void end(struct clients *clients, struct client *c)
{
    c->is_over = true;
    bytes_forget(clients, c);
    shutdown(c->fd, SHUT_RDWR);
}

/* Disconnect the oldest of these. False: there is none. */
static bool oldest_end(struct clients *clients, enum client_state state, bool is_extra)
{
    struct client *c = clients->lists[state].oldest;

    while (c && (c->is_over || c->is_extra != is_extra))
        c = c->newer;
    if (c) {
        end(clients, c);
        clients->counts.pushed++;
    }
    return c != NULL;
}

/* False: all wait for an answer, or read one. */
static bool client_room_make(struct clients *clients, bool is_extra)
{
    return oldest_end(clients, CLIENT_IDLE, is_extra) ||
           oldest_end(clients, CLIENT_ASKS, is_extra);
}

static bool has_slots(const struct clients *clients)
{
    return clients->counts.now - clients->extras < clients->limits.most;
}

/* False: there is no room for another one. */
static bool admit(struct clients *clients, struct client *c)
{
    if (has_slots(clients) || client_room_make(clients, false))
        return true;
    c->is_extra = true;
    return clients->extras < CLIENTS_EXTRA || client_room_make(clients, true);
}

struct client *clients_add(struct clients *clients, int fd, double now)
{
    struct client *c = calloc(1, sizeof *c);

    if (c)
        *c = (struct client){.fd = fd, .state = CLIENT_IDLE, .since = now};
    pthread_mutex_lock(&clients->lock);
    clients->counts.all++;
    if (!c || !admit(clients, c)) {
        clients->counts.pushed++;
        pthread_mutex_unlock(&clients->lock);
        free(c);
        shutdown(fd, SHUT_RDWR);
        return NULL;
    }
    clients->counts.now++;
    clients->extras += c->is_extra;
    list_add(clients, c);
    pthread_mutex_unlock(&clients->lock);
    return c;
}

void clients_remove(struct clients *clients, struct client *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&clients->lock);
    list_remove(clients, c);
    bytes_forget(clients, c);
    clients->counts.now--;
    clients->extras -= c->is_extra;
    pthread_cond_signal(&clients->change);
    pthread_mutex_unlock(&clients->lock);
    free(c);
}

/* With the lock. */
static void state_set(struct clients *clients, struct client *c,
                      enum client_state state, double now)
{
    list_remove(clients, c);
    bytes_forget(clients, c);
    c->state = state;
    c->since = now;
    list_add(clients, c);
    pthread_cond_signal(&clients->change);
}

void clients_set(struct clients *clients, struct client *c, enum client_state state,
                 double now)
{
    if (!c)
        return;
    pthread_mutex_lock(&clients->lock);
    state_set(clients, c, state, now);
    pthread_mutex_unlock(&clients->lock);
}

/* Disconnect the client that has been reading longest, except the newest one. */
static bool reader_end(struct clients *clients)
{
    struct client *c = clients->lists[CLIENT_READS].oldest;

    while (c && c->bytes == 0)
        c = c->newer;
    if (!c || !c->newer)
        return false;
    end(clients, c);
    clients->counts.unread++;
    return true;
}

void clients_reads(struct clients *clients, struct client *c, uint64_t bytes,
                   double now)
{
    if (!c)
        return;
    pthread_mutex_lock(&clients->lock);
    state_set(clients, c, CLIENT_READS, now);
    if (!c->is_over) {
        c->bytes = bytes;
        clients->unread += bytes;
    }
    while (clients->unread > clients->limits.answers && reader_end(clients))
        continue;
    pthread_mutex_unlock(&clients->lock);
}

/* Only the thread that serves the client calls this, so only that thread gives it a
 * slot. */
bool clients_has_slot(struct clients *clients, struct client *c)
{
    if (!c || !c->is_extra)
        return true;
    pthread_mutex_lock(&clients->lock);
    if (has_slots(clients)) {
        c->is_extra = false;
        clients->extras--;
    }
    pthread_mutex_unlock(&clients->lock);
    return !c->is_extra;
}

void clients_expire(struct clients *clients, double now)
{
    pthread_mutex_lock(&clients->lock);
    for (int state = 0; state < CLIENT_STATES; state++) {
        struct client *c = clients->lists[state].oldest;

        for (; state != CLIENT_WAITS && c && now - c->since > clients->limits.seconds;
             c = c->newer)
            if (!c->is_over) {
                end(clients, c);
                clients->counts.late++;
            }
    }
    pthread_mutex_unlock(&clients->lock);
}

void clients_settle(struct clients *clients, double seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)((seconds - (double)(long)seconds) * 1e9);
    until.tv_sec += (time_t)seconds + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&clients->lock);
    while (clients->lists[CLIENT_WAITS].oldest || clients->lists[CLIENT_READS].oldest)
        if (pthread_cond_timedwait(&clients->change, &clients->lock, &until) != 0)
            break;
    pthread_mutex_unlock(&clients->lock);
}

void clients_look(struct clients *clients, struct clients_state *state)
{
    pthread_mutex_lock(&clients->lock);
    *state = clients->counts;
    pthread_mutex_unlock(&clients->lock);
}
