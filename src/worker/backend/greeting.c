/* greeting.c - a thread listens at the addresses of an invitation; other nodes connect
 * to them. */
#include "config.h"

#include "backend/greeting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/thread.h"

/* ---- The node that listens ---- */

/* Connections at the same time: several for each node of a large run. A stranger that
 * connects and sends nothing keeps one of them until the end. */
#define GUESTS_MAX 16384

struct guest {
    int have;
    unsigned char said[GREETING_BYTES];
};

/* polled[]: `stop`, the sockets that listen, and the guests, whose bytes are in
 * guests[] at the same index. */
struct greeter {
    pthread_t thread;
    struct invitation invitation;
    int stop;
    struct pollfd *polled;
    struct guest *guests;
    int n, first_guest, room;
};

static int greeter_grow(struct greeter *g)
{
    int room = g->room * 2;
    struct pollfd *polled = reallocarray(g->polled, (size_t)room, sizeof *polled);
    struct guest *guests;

    if (!polled)
        return -1;
    g->polled = polled;
    guests = reallocarray(g->guests, (size_t)room, sizeof *guests);
    if (!guests)
        return -1;
    g->guests = guests;
    g->room = room;
    return 0;
}

static void guest_admit(struct greeter *g, int listening)
{
    int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (g->n - g->first_guest >= GUESTS_MAX ||
        (g->n == g->room && greeter_grow(g) < 0)) {
        close(fd);
        return;
    }
    g->guests[g->n].have = 0;
    g->polled[g->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* Read from a guest, and answer its question. Returns false if it is to be closed. */
static bool guest_hear(const struct greeter *g, int fd, struct guest *guest)
{
    ssize_t k =
        recv(fd, guest->said + guest->have, (size_t)(GREETING_BYTES - guest->have), 0);

    if (k < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (k <= 0)
        return false;
    guest->have += (int)k;
    if (guest->have < GREETING_BYTES)
        return true;
    if (memcmp(guest->said, g->invitation.question, GREETING_BYTES) == 0)
        (void)send(fd, g->invitation.answer, GREETING_BYTES, MSG_NOSIGNAL);
    return false;
}

/* From the last to the first, since the last guest is moved to the place of one that
 * leaves. */
static void guests_serve(struct greeter *g)
{
    for (int i = g->n - 1; i >= g->first_guest; i--) {
        if (!g->polled[i].revents || guest_hear(g, g->polled[i].fd, &g->guests[i]))
            continue;
        close(g->polled[i].fd);
        g->n--;
        g->polled[i] = g->polled[g->n];
        g->guests[i] = g->guests[g->n];
    }
}

static void *greeter_serve(void *arg)
{
    struct greeter *g = arg;

    for (;;) {
        if (poll(g->polled, (nfds_t)g->n, -1) < 0 && errno != EINTR)
            return NULL;
        if (g->polled[0].revents)
            return NULL;
        guests_serve(g);
        for (int i = 1; i < g->first_guest; i++)
            if (g->polled[i].revents & POLLIN)
                guest_admit(g, g->polled[i].fd);
    }
}

static void greeter_free(struct greeter *g)
{
    for (int i = 0; i < g->n; i++)
        close(g->polled[i].fd);
    free(g->polled);
    free(g->guests);
    free(g);
}

static int greeter_listen(struct greeter *g, const union address *at, int n,
                          struct error *err)
{
    g->room = 64;
    g->polled = calloc((size_t)g->room, sizeof *g->polled);
    g->guests = calloc((size_t)g->room, sizeof *g->guests);
    if (!g->polled || !g->guests)
        return error_no_memory(err);
    g->stop = eventfd(0, EFD_CLOEXEC);
    if (g->stop < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "eventfd: %s", strerror(errno));
    g->polled[g->n++] = (struct pollfd){.fd = g->stop, .events = POLLIN};
    for (int i = 0; i < n; i++) {
        union address here = at[i];
        int fd = address_listen(&here);

        if (fd < 0)
            continue;
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
        g->polled[g->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        g->invitation.at[g->invitation.n++] = here;
    }
    g->first_guest = g->n;
    return 0;
}

int greeter_start(const union address *at, int n, struct invitation *invitation,
                  struct greeter **out, struct error *err)
{
    struct greeter *g = calloc(1, sizeof *g);

    *out = NULL;
    if (!g)
        return error_no_memory(err);
    if (getentropy(g->invitation.question, GREETING_BYTES) < 0 ||
        getentropy(g->invitation.answer, GREETING_BYTES) < 0) {
        error_set(err, RAYTRAIN_EFAILED, "getentropy: %s", strerror(errno));
        goto fail;
    }
    if (greeter_listen(g, at, n, err) < 0)
        goto fail;
    *invitation = g->invitation;
    if (thread_start(&g->thread, greeter_serve, g, err) < 0)
        goto fail;
    *out = g;
    return 0;
fail:
    greeter_free(g);
    return -1;
}

void greeter_stop(struct greeter *g)
{
    if (!g)
        return;
    (void)eventfd_write(g->stop, 1);
    pthread_join(g->thread, NULL);
    greeter_free(g);
}

/* ---- The node that connects ---- */

struct attempt_at {
    bool asked;
    int have;
    unsigned char heard[GREETING_BYTES];
};

/* Start to connect to an address; returns the descriptor, or -1. */
static int attempt_begin(const union address *at)
{
    int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, &at->any, address_length(at)) == 0 ||
        errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

/* One step, when the socket is ready. -1: it has failed; 1: the address is reached. */
static int attempt_step(const struct invitation *invitation, struct attempt_at *a,
                        struct pollfd *p)
{
    ssize_t k;

    if (!a->asked) {
        if (send(p->fd, invitation->question, GREETING_BYTES, MSG_NOSIGNAL) !=
            GREETING_BYTES)
            return -1;
        a->asked = true;
        p->events = POLLIN;
        return 0;
    }
    k = recv(p->fd, a->heard + a->have, (size_t)(GREETING_BYTES - a->have), 0);
    if (k < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (k <= 0)
        return -1;
    a->have += (int)k;
    if (a->have < GREETING_BYTES)
        return 0;
    return memcmp(a->heard, invitation->answer, GREETING_BYTES) == 0 ? 1 : -1;
}

uint64_t greeting_try(const struct invitation *invitation, double limit_s,
                      double patience_s)
{
    struct attempt_at attempts[ADDRESSES_MAX] = {{false, 0, {0}}};
    struct pollfd polled[ADDRESSES_MAX];
    double end = clock_now() + limit_s, now;
    uint64_t reached = 0;
    int left = 0;

    for (int i = 0; i < invitation->n; i++) {
        polled[i] =
            (struct pollfd){.fd = attempt_begin(&invitation->at[i]), .events = POLLOUT};
        left += polled[i].fd >= 0;
    }
    while (left > 0 && (now = clock_now()) < end) {
        if (poll(polled, (nfds_t)invitation->n, (int)((end - now) * 1e3) + 1) < 0 &&
            errno != EINTR)
            break;
        for (int i = 0; i < invitation->n; i++) {
            int rc = polled[i].fd >= 0 && polled[i].revents
                         ? attempt_step(invitation, &attempts[i], &polled[i])
                         : 0;

            if (rc == 0)
                continue;
            close(polled[i].fd);
            polled[i].fd = -1;
            left--;
            if (rc < 0)
                continue;
            if (!reached && clock_now() + patience_s < end)
                end = clock_now() + patience_s;
            reached |= UINT64_C(1) << i;
        }
    }
    for (int i = 0; i < invitation->n; i++)
        if (polled[i].fd >= 0)
            close(polled[i].fd);
    return reached;
}
