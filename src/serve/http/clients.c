#include "http/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct client {
    int fd;
    enum client_state state;
    double since;                 /* in this state */
    bool is_over;                 /* it is shut down already */
    struct client *older, *newer; /* in the list of its state */
};

/* Those in one state, in the order in which they came into it. */
struct list {
    struct client *oldest, *newest;
};

struct clients {
    pthread_mutex_t lock;
    pthread_cond_t change;
    size_t most;
    double seconds;
    struct list lists[CLIENT_STATES];
    struct clients_state counts;
};

int clients_create(size_t most, double seconds, struct clients **out, struct error *err)
{
    struct clients *clients = calloc(1, sizeof *clients);
    pthread_condattr_t attr;

    if (!clients)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for clients");
    clients->most = most;
    clients->seconds = seconds;
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

static void end(struct client *c)
{
    c->is_over = true;
    shutdown(c->fd, SHUT_RDWR);
}

/* The oldest of these goes. False: there is none. */
static bool oldest_end(struct list *list)
{
    struct client *c = list->oldest;

    while (c && c->is_over)
        c = c->newer;
    if (c)
        end(c);
    return c != NULL;
}

/* False: all wait for an answer, or read one. */
static bool room_make(struct clients *clients)
{
    return oldest_end(&clients->lists[CLIENT_IDLE]) ||
           oldest_end(&clients->lists[CLIENT_ASKS]);
}

struct client *clients_add(struct clients *clients, int fd, double now)
{
    struct client *c = calloc(1, sizeof *c);
    bool is_full;

    pthread_mutex_lock(&clients->lock);
    clients->counts.all++;
    is_full = clients->counts.now >= clients->most;
    clients->counts.pushed += is_full;
    if (!c || (is_full && !room_make(clients))) {
        pthread_mutex_unlock(&clients->lock);
        free(c);
        shutdown(fd, SHUT_RDWR);
        return NULL;
    }
    *c = (struct client){.fd = fd, .state = CLIENT_IDLE, .since = now};
    clients->counts.now++;
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
    clients->counts.now--;
    pthread_cond_signal(&clients->change);
    pthread_mutex_unlock(&clients->lock);
    free(c);
}

void clients_set(struct clients *clients, struct client *c, enum client_state state,
                 double now)
{
    if (!c)
        return;
    pthread_mutex_lock(&clients->lock);
    list_remove(clients, c);
    c->state = state;
    c->since = now;
    list_add(clients, c);
    pthread_cond_signal(&clients->change);
    pthread_mutex_unlock(&clients->lock);
}

void clients_expire(struct clients *clients, double now)
{
    pthread_mutex_lock(&clients->lock);
    for (int state = 0; state < CLIENT_STATES; state++) {
        struct client *c = clients->lists[state].oldest;

        for (; state != CLIENT_WAITS && c && now - c->since > clients->seconds;
             c = c->newer)
            if (!c->is_over) {
                end(c);
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
