/*
 * rabit_tracker.c - see rabit_tracker.h.
 *
 * The protocol has integers in the machine's byte order, and texts as a length and
 * bytes. A connection begins with a magic number, which is sent back, the member's rank
 * (-1), the number of members (-1: unknown), its task id and a command. When all
 * members are connected, "start" is answered in the order of ranks
 * (member_introduce()); "shutdown" and "print" are not answered.
 */
#include "config.h"

#include "xgboost/rabit_tracker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/thread.h"

#define MAGIC 0xff99
/* All members connect at the same time; thousands of them connect within this limit. If
 * one cannot, the others do not wait longer. */
#define MEET_LIMIT_S 120.0
/* A connection whose member is not known yet. */
#define HELLO_LIMIT_S 30.0
/* Connections that are not known to be of members, beside one for each member. */
#define STRANGERS_MAX 256
#define COMMAND_MAX   16
/* The times that a member may report that it could not reach a neighbour. */
#define TRIES_MAX 5
/* Parent, two children, and both neighbours in the ring. */
#define LINKS_MAX 5

/* Magic number, rank, number of members, and two texts with their lengths. */
#define HELLO_MAX (12 + 4 + RABIT_TASK_MAX + 4 + COMMAND_MAX)

struct guest {
    int fd;
    double until;
    bool answered; /* its magic number was sent back */
    size_t have;
    unsigned char said[HELLO_MAX];
};

struct member {
    int fd; /* -1: not connected yet, or no longer */
    bool came;
    char host[NI_MAXHOST];
    int port;   /* where it accepts neighbours of higher ranks; 0: unknown */
    bool waits; /* for neighbours of higher ranks */
};

struct rabit_tracker {
    pthread_t thread;
    int listening, stop;
    int n, there;
    unsigned char secret[RABIT_SECRET_BYTES];
    struct member *members;
    struct guest *guests;
    struct pollfd *polled; /* the descriptors `stop` and `listening`, then the guests */
    int n_guests, guests_max;
    double until; /* the time by which members must meet */
    bool met;
    struct error error;
};

void rabit_task_id(int rank, const unsigned char secret[RABIT_SECRET_BYTES],
                   char text[RABIT_TASK_MAX])
{
    int n = snprintf(text, RABIT_TASK_MAX, "%010d-", rank);

    for (int i = 0; i < RABIT_SECRET_BYTES; i++)
        n += snprintf(text + n, (size_t)(RABIT_TASK_MAX - n), "%02x", secret[i]);
}

/* ---- Guests: connections that have not sent their whole greeting yet ---- */

enum hello { HELLO_PART, HELLO_BAD, HELLO_START, HELLO_OTHER };

static bool int_take(const struct guest *g, size_t *at, int32_t *value)
{
    if (g->have < *at + sizeof *value)
        return false;
    memcpy(value, g->said + *at, sizeof *value);
    *at += sizeof *value;
    return true;
}

/* Take a text of 1 to most - 1 bytes. *bad: it has another length. */
static bool guest_text_take(const struct guest *g, size_t *at, char *text, size_t most,
                            bool *bad)
{
    int32_t n;

    if (!int_take(g, at, &n))
        return false;
    *bad = n < 1 || (size_t)n >= most;
    if (*bad || g->have < *at + (size_t)n)
        return false;
    memcpy(text, g->said + *at, (size_t)n);
    text[n] = '\0';
    *at += (size_t)n;
    return true;
}

/* Compare all bytes of the ids, so that the time tells nothing about the secret. */
static int task_rank(const struct rabit_tracker *t, const char *task)
{
    char right[RABIT_TASK_MAX];
    unsigned char differ = 0;
    char *end;
    long rank = strtol(task, &end, 10);

    if (*end != '-' || strlen(task) != RABIT_TASK_MAX - 1 || rank < 0 || rank >= t->n)
        return -1;
    rabit_task_id((int)rank, t->secret, right);
    for (size_t i = 0; right[i]; i++)
        differ |= (unsigned char)(right[i] ^ task[i]);
    return differ ? -1 : (int)rank;
}

static enum hello hello_parse(const struct rabit_tracker *t, const struct guest *g,
                              int *rank)
{
    char task[RABIT_TASK_MAX], command[COMMAND_MAX];
    int32_t magic, has_rank, members;
    size_t at = 0;
    bool bad = false;

    if (!int_take(g, &at, &magic))
        return HELLO_PART;
    if (magic != MAGIC)
        return HELLO_BAD;
    if (!int_take(g, &at, &has_rank) || !int_take(g, &at, &members) ||
        !guest_text_take(g, &at, task, sizeof task, &bad) ||
        !guest_text_take(g, &at, command, sizeof command, &bad))
        return bad ? HELLO_BAD : HELLO_PART;
    *rank = task_rank(t, task);
    if (*rank < 0 || (members != -1 && members != t->n))
        return HELLO_BAD;
    if (strcmp(command, "start") != 0)
        return HELLO_OTHER;
    return has_rank == -1 && !t->members[*rank].came ? HELLO_START : HELLO_BAD;
}

static void guest_leave(struct rabit_tracker *t, int i)
{
    close(t->guests[i].fd);
    t->guests[i] = t->guests[--t->n_guests];
}

/* Make a guest a member: its connection is kept for the introduction. */
static void guest_join(struct rabit_tracker *t, int i, int rank)
{
    struct member *m = &t->members[rank];
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;

    if (getpeername(t->guests[i].fd, (struct sockaddr *)&peer, &length) < 0 ||
        getnameinfo((struct sockaddr *)&peer, length, m->host, sizeof m->host, NULL, 0,
                    NI_NUMERICHOST) != 0) {
        guest_leave(t, i);
        return;
    }
    m->fd = t->guests[i].fd;
    m->came = true;
    t->there++;
    t->guests[i] = t->guests[--t->n_guests];
}

static void guest_hear(struct rabit_tracker *t, int i)
{
    struct guest *g = &t->guests[i];
    ssize_t k = recv(g->fd, g->said + g->have, sizeof g->said - g->have, 0);
    const int32_t magic = MAGIC;
    int rank = -1;
    enum hello hello;

    if (k < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    g->have += k > 0 ? (size_t)k : 0;
    hello = k > 0 ? hello_parse(t, g, &rank) : HELLO_BAD;
    if (hello != HELLO_BAD && !g->answered && g->have >= sizeof magic) {
        g->answered = true;
        (void)send(g->fd, &magic, sizeof magic, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (hello == HELLO_START)
        guest_join(t, i, rank);
    else if (hello != HELLO_PART || g->have == sizeof g->said)
        guest_leave(t, i);
}

/* Accept a connection. If there are too many guests, or no descriptors left, close that
 * of the guest that has been silent longest. */
static void guest_admit(struct rabit_tracker *t)
{
    int fd = accept4(t->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int oldest = 0;

    for (int i = 1; i < t->n_guests; i++)
        if (t->guests[i].until < t->guests[oldest].until)
            oldest = i;
    if (t->n_guests > 0 && (t->n_guests == t->guests_max ||
                            (fd < 0 && (errno == EMFILE || errno == ENFILE))))
        guest_leave(t, oldest);
    if (fd < 0)
        return;
    t->guests[t->n_guests++] =
        (struct guest){.fd = fd, .until = clock_now() + HELLO_LIMIT_S};
}

static double earliest(const struct rabit_tracker *t)
{
    double until = t->met ? 1e300 : t->until;

    for (int i = 0; i < t->n_guests; i++)
        if (t->guests[i].until < until)
            until = t->guests[i].until;
    return until;
}

static int milliseconds_to(double until)
{
    double left = until - clock_now();

    if (left <= 0)
        return 0;
    return left > 3600 ? 3600 * 1000 : (int)(left * 1e3) + 1;
}

/* Wait once, and serve the guests that have sent something. -1: stop. */
static int guests_serve(struct rabit_tracker *t)
{
    struct pollfd *polled = t->polled;
    int n = t->n_guests;

    polled[0] = (struct pollfd){.fd = t->stop, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = t->listening, .events = POLLIN};
    for (int i = 0; i < n; i++)
        polled[2 + i] = (struct pollfd){.fd = t->guests[i].fd, .events = POLLIN};
    if (poll(polled, (nfds_t)(2 + n), milliseconds_to(earliest(t))) < 0 &&
        errno != EINTR)
        return -1;
    if (polled[0].revents)
        return -1;
    /* Backwards, because the last guest replaces one that leaves. */
    for (int i = n - 1; i >= 0; i--) {
        if (polled[2 + i].revents)
            guest_hear(t, i);
        else if (t->guests[i].until <= clock_now())
            guest_leave(t, i);
    }
    if (polled[1].revents)
        guest_admit(t);
    return 0;
}

/* ---- The introduction of a member to its neighbours ---- */

/* Wait until the member's connection is ready. -1: too late, or asked to stop. */
static int member_wait(struct rabit_tracker *t, int fd, short events)
{
    struct pollfd polled[2] = {{.fd = t->stop, .events = POLLIN},
                               {.fd = fd, .events = events}};

    for (;;) {
        int n = poll(polled, 2, milliseconds_to(t->until));

        if (n < 0 && errno == EINTR)
            continue;
        return n > 0 && !polled[0].revents ? 0 : -1;
    }
}

static int bytes_send(struct rabit_tracker *t, int fd, const void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t k = send(fd, (const char *)data + done, n - done, MSG_NOSIGNAL);

        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (k < 0 && member_wait(t, fd, POLLOUT) < 0)
            return -1;
        done += k > 0 ? (size_t)k : 0;
    }
    return 0;
}

static int int_send(struct rabit_tracker *t, int fd, int value)
{
    int32_t v = value;

    return bytes_send(t, fd, &v, sizeof v);
}

static int text_send(struct rabit_tracker *t, int fd, const char *text)
{
    return int_send(t, fd, (int)strlen(text)) < 0
               ? -1
               : bytes_send(t, fd, text, strlen(text));
}

static int int_receive(struct rabit_tracker *t, int fd, int *value)
{
    int32_t v;

    for (size_t done = 0; done < sizeof v;) {
        ssize_t k = recv(fd, (char *)&v + done, sizeof v - done, 0);

        if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
            return -1;
        if (k < 0 && member_wait(t, fd, POLLIN) < 0)
            return -1;
        done += k > 0 ? (size_t)k : 0;
    }
    *value = v;
    return 0;
}

struct links {
    int parent, n_tree, tree[LINKS_MAX], prev, next;
    int n, all[LINKS_MAX]; /* each neighbour once */
};

static void link_add(struct links *l, int rank)
{
    for (int i = 0; i < l->n; i++)
        if (l->all[i] == rank)
            return;
    l->all[l->n++] = rank;
}

/* Set the neighbours of a rank: in a binary tree, and in a ring in the order of
 * ranks. */
static void links_make(int rank, int n, struct links *l)
{
    *l = (struct links){.parent = rank > 0 ? (rank - 1) / 2 : -1,
                        .prev = (rank + n - 1) % n,
                        .next = (rank + 1) % n};
    if (l->parent >= 0)
        l->tree[l->n_tree++] = l->parent;
    for (int child = 2 * rank + 1; child <= 2 * rank + 2; child++)
        if (child < n)
            l->tree[l->n_tree++] = child;
    for (int i = 0; i < l->n_tree; i++)
        link_add(l, l->tree[i]);
    link_add(l, l->prev);
    link_add(l, l->next);
}

static int links_send(struct rabit_tracker *t, int fd, int rank, const struct links *l)
{
    int rc = int_send(t, fd, rank);

    rc = rc < 0 ? rc : int_send(t, fd, l->parent);
    rc = rc < 0 ? rc : int_send(t, fd, t->n);
    rc = rc < 0 ? rc : int_send(t, fd, l->n_tree);
    for (int i = 0; rc == 0 && i < l->n_tree; i++)
        rc = int_send(t, fd, l->tree[i]);
    rc = rc < 0 ? rc : int_send(t, fd, l->prev);
    return rc < 0 ? rc : int_send(t, fd, l->next);
}

/* Receive from the member the neighbours to which it already has a link. */
static int links_have(struct rabit_tracker *t, int fd, const struct links *l,
                      bool have[LINKS_MAX])
{
    int n, rank;

    memset(have, 0, LINKS_MAX * sizeof *have);
    if (int_receive(t, fd, &n) < 0 || n < 0 || n > l->n)
        return -1;
    while (n-- > 0) {
        int i = 0;

        if (int_receive(t, fd, &rank) < 0)
            return -1;
        while (i < l->n && l->all[i] != rank)
            i++;
        if (i == l->n)
            return -1;
        have[i] = true;
    }
    return 0;
}

/* Send the member its neighbours of lower ranks, which accept connections. *waits is
 * the number of neighbours of higher ranks, whose connections it must accept. */
static int links_offer(struct rabit_tracker *t, int fd, int rank, const struct links *l,
                       const bool have[LINKS_MAX], int *waits)
{
    int n = 0, rc;

    *waits = 0;
    for (int i = 0; i < l->n; i++) {
        n += !have[i] && l->all[i] < rank;
        *waits += !have[i] && l->all[i] > rank;
    }
    rc = int_send(t, fd, n);
    rc = rc < 0 ? rc : int_send(t, fd, *waits);
    for (int i = 0; rc == 0 && i < l->n; i++) {
        if (have[i] || l->all[i] > rank)
            continue;
        rc = text_send(t, fd, t->members[l->all[i]].host);
        rc = rc < 0 ? rc : int_send(t, fd, t->members[l->all[i]].port);
        rc = rc < 0 ? rc : int_send(t, fd, l->all[i]);
    }
    return rc;
}

static int member_introduce(struct rabit_tracker *t, int rank)
{
    struct member *m = &t->members[rank];
    int failed = 1, waits = 0;
    bool have[LINKS_MAX];
    struct links l;

    links_make(rank, t->n, &l);
    if (links_send(t, m->fd, rank, &l) < 0)
        return -1;
    for (int k = 0; failed != 0; k++) {
        if (k == TRIES_MAX)
            return error_set(
                &t->error, RAYTRAIN_ECOMM,
                "worker %d could not connect to a worker of lower rank: is "
                "there a firewall between the nodes?",
                rank);
        if (links_have(t, m->fd, &l, have) < 0 ||
            links_offer(t, m->fd, rank, &l, have, &waits) < 0 ||
            int_receive(t, m->fd, &failed) < 0)
            return -1;
    }
    if (int_receive(t, m->fd, &m->port) < 0 || m->port < 1 || m->port > UINT16_MAX)
        return -1;
    m->waits = waits > 0;
    close(m->fd);
    m->fd = -1;
    return 0;
}

/* Stop a member from waiting for neighbours that will never connect: for it, an empty
 * connection is an error. */
static void member_dismiss(const struct member *m)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *at;
    struct pollfd polled = {.fd = -1, .events = POLLOUT};
    char port[8];

    snprintf(port, sizeof port, "%u", (unsigned)m->port & UINT16_MAX);
    if (getaddrinfo(m->host, port, &hints, &at) != 0)
        return;
    polled.fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (polled.fd >= 0) {
        if (connect(polled.fd, at->ai_addr, at->ai_addrlen) < 0 && errno == EINPROGRESS)
            (void)poll(&polled, 1, 1000);
        close(polled.fd);
    }
    freeaddrinfo(at);
}

/* ---- The thread ---- */

static void members_meet(struct rabit_tracker *t)
{
    while (t->there < t->n) {
        if (guests_serve(t) < 0)
            return;
        if (clock_now() >= t->until && t->there < t->n) {
            error_set(&t->error, RAYTRAIN_ECOMM,
                      "only %d of %d workers have reached worker 0 within %.0f s",
                      t->there, t->n, MEET_LIMIT_S);
            return;
        }
    }
    t->until = clock_now() + MEET_LIMIT_S;
    for (int r = 0; r < t->n; r++) {
        if (member_introduce(t, r) == 0)
            continue;
        if (t->error.code == RAYTRAIN_OK)
            error_set(&t->error, RAYTRAIN_ECOMM,
                      "worker %d has left before all workers were connected", r);
        return;
    }
    t->met = true;
}

static void members_leave(struct rabit_tracker *t)
{
    for (int r = 0; r < t->n; r++) {
        struct member *m = &t->members[r];

        if (m->fd >= 0)
            close(m->fd);
        m->fd = -1;
        if (!t->met && m->waits)
            member_dismiss(m);
    }
}

static void *tracker_serve(void *arg)
{
    struct rabit_tracker *t = arg;

    members_meet(t);
    members_leave(t);
    /* Until stop: take the farewells of members; after a failure, refuse members that
     * come late, so that they do not wait. */
    if (!t->met) {
        close(t->listening);
        t->listening = -1;
    }
    while (t->met && guests_serve(t) == 0)
        ;
    return NULL;
}

static void tracker_free(struct rabit_tracker *t)
{
    while (t->n_guests > 0)
        guest_leave(t, 0);
    for (int r = 0; t->members && r < t->n; r++)
        if (t->members[r].fd >= 0)
            close(t->members[r].fd);
    if (t->listening >= 0)
        close(t->listening);
    if (t->stop >= 0)
        close(t->stop);
    free(t->members);
    free(t->guests);
    free(t->polled);
    free(t);
}

int rabit_tracker_start(int listening, int members,
                        const unsigned char secret[RABIT_SECRET_BYTES],
                        struct rabit_tracker **out, struct error *err)
{
    struct rabit_tracker *t = calloc(1, sizeof *t);

    *out = NULL;
    if (!t) {
        close(listening);
        return error_no_memory(err);
    }
    t->listening = listening;
    t->n = members;
    t->until = clock_now() + MEET_LIMIT_S;
    memcpy(t->secret, secret, sizeof t->secret);
    t->stop = eventfd(0, EFD_CLOEXEC);
    t->members = calloc((size_t)members, sizeof *t->members);
    t->guests_max = members + STRANGERS_MAX;
    t->guests = calloc((size_t)t->guests_max, sizeof *t->guests);
    t->polled = calloc((size_t)t->guests_max + 2, sizeof *t->polled);
    for (int r = 0; t->members && r < members; r++)
        t->members[r].fd = -1;
    if (!t->members || !t->guests || !t->polled || t->stop < 0 ||
        fcntl(listening, F_SETFL, O_NONBLOCK) < 0)
        error_set(err, RAYTRAIN_ENOMEM, "out of memory, or of descriptors");
    else if (thread_start(&t->thread, tracker_serve, t, err) == 0)
        *out = t;
    if (!*out)
        tracker_free(t);
    return *out ? 0 : -1;
}

int rabit_tracker_stop(struct rabit_tracker *t, struct error *err)
{
    int rc = 0;

    if (!t)
        return 0;
    (void)eventfd_write(t->stop, 1);
    pthread_join(t->thread, NULL);
    if (t->error.code != RAYTRAIN_OK)
        rc = error_set(err, t->error.code, "%s", t->error.text);
    tracker_free(t);
    return rc;
}
