/* node_channel.c - Unix sockets, whose path the ranks learn by an exchange. */
#include "config.h"

#include "wireup/node_channel.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/secret.h"
#include "wireup/node_dir.h"

#define CONNECT_LIMIT_S 30.0
#define SOCKET_NAME     "/tasks"

/* What the leader gives to the ranks of its node. */
struct invitation {
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    char secret[SECRET_TEXT_MAX];
};

struct node_channel {
    struct node_dir dir; /* of the leader, until all have connected */
    int listener;
    int *fds; /* of a leader: to the others; else one, to the leader */
    int n;
};

static int channel_fail(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_ECOMM,
                     "cannot connect the tasks of this node: %s: %s", what,
                     strerror(errno));
}

/* ---- The leader ---- */

static int invitation_make(struct node_channel *c, struct invitation *in,
                           struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (secret_make(in->secret, err) < 0 ||
        node_dir_make(&c->dir, sizeof in->path - sizeof SOCKET_NAME, err) < 0)
        return -1;
    snprintf(in->path, sizeof in->path, "%.*s" SOCKET_NAME,
             (int)(sizeof in->path - sizeof SOCKET_NAME), c->dir.path);
    memcpy(at.sun_path, in->path, sizeof in->path);
    c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->listener < 0 ||
        bind(c->listener, (const struct sockaddr *)&at, sizeof at) < 0 ||
        listen(c->listener, SOMAXCONN) < 0)
        return channel_fail(err, "listen");
    return 0;
}

static bool is_invited(int fd, const struct invitation *in)
{
    char secret[SECRET_TEXT_MAX];
    struct pollfd on = {.fd = fd, .events = POLLIN};
    struct ucred peer;
    socklen_t n = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
           peer.uid == geteuid() && poll(&on, 1, 1000) == 1 &&
           recv(fd, secret, sizeof secret, MSG_DONTWAIT) == sizeof secret &&
           memcmp(secret, in->secret, sizeof secret) == 0;
}

static int others_accept(struct node_channel *c, int n, const struct invitation *in,
                         struct error *err)
{
    double until = clock_now() + CONNECT_LIMIT_S, left;

    while (c->n < n && (left = until - clock_now()) > 0) {
        struct pollfd on = {.fd = c->listener, .events = POLLIN};
        int fd;

        if (poll(&on, 1, (int)(left * 1e3) + 1) < 0 && errno != EINTR)
            return channel_fail(err, "poll");
        fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && is_invited(fd, in))
            c->fds[c->n++] = fd;
        else if (fd >= 0)
            close(fd);
    }
    if (c->n == n)
        return 0;
    return error_set(err, RAYTRAIN_ECOMM,
                     "%d of %d tasks of this node have not connected within %.0f s",
                     n - c->n, n, CONNECT_LIMIT_S);
}

/* ---- Another rank ---- */

static int leader_connect(struct node_channel *c, const struct invitation *in,
                          struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return channel_fail(err, "socket");
    c->fds[c->n++] = fd;
    memcpy(at.sun_path, in->path, sizeof at.sun_path);
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) < 0 ||
        send(fd, in->secret, sizeof in->secret, MSG_NOSIGNAL) !=
            (ssize_t)sizeof in->secret)
        return channel_fail(err, in->path);
    return 0;
}

/* ---- Both ---- */

static int invitation_take(struct wireup *w, struct invitation *in, struct error *err)
{
    void *got = NULL;
    size_t n = 0;
    int rc = wireup_peer_get(w, wireup_leader(w), "tasks", &got, &n, err);

    if (rc == 0 && n != sizeof *in)
        rc = error_set(err, RAYTRAIN_ECOMM,
                       "the task of rank %d, which leads this node, could not listen",
                       wireup_leader(w));
    if (rc == 0)
        memcpy(in, got, sizeof *in);
    free(got);
    return rc;
}

static int channel_connect(struct wireup *w, struct node_channel *c, struct error *err)
{
    const struct world *world = wireup_world(w);
    struct invitation in = {.path = ""};
    bool leads = world->local_rank == 0;
    int rc = leads ? invitation_make(c, &in, err) : 0;
    struct error why;

    if (wireup_exchange(w, "tasks", &in, leads && rc == 0 ? sizeof in : 0, &why) < 0)
        return rc < 0 ? rc : error_set(err, why.code, "%s", why.text);
    if (rc < 0)
        return -1;
    if (leads)
        return others_accept(c, world->local_size - 1, &in, err);
    return invitation_take(w, &in, err) < 0 ? -1 : leader_connect(c, &in, err);
}

static void listener_close(struct node_channel *c)
{
    if (c->listener >= 0)
        close(c->listener);
    c->listener = -1;
    node_dir_remove(&c->dir);
}

int node_channel_open(struct wireup *w, struct node_channel **out, struct error *err)
{
    struct node_channel *c = calloc(1, sizeof *c);
    int rc;

    *out = NULL;
    if (!c)
        return error_no_memory(err);
    c->dir = (struct node_dir)NODE_DIR_INIT;
    c->listener = -1;
    c->fds = calloc((size_t)wireup_world(w)->local_size, sizeof *c->fds);
    rc = c->fds ? channel_connect(w, c, err) : error_no_memory(err);
    listener_close(c);
    if (rc < 0)
        node_channel_close(c);
    else
        *out = c;
    return rc;
}

void node_channel_close(struct node_channel *c)
{
    if (!c)
        return;
    listener_close(c);
    while (c->n > 0)
        close(c->fds[--c->n]);
    free(c->fds);
    free(c);
}

void node_channel_send(struct node_channel *c, unsigned number)
{
    for (int i = 0; i < c->n; i++)
        (void)!send(c->fds[i], &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int node_channel_fd(const struct node_channel *c)
{
    return c->n == 1 && c->fds[0] >= 0 ? c->fds[0] : -1;
}

bool node_channel_receive(struct node_channel *c, unsigned *number)
{
    ssize_t n = recv(c->fds[0], number, sizeof *number, MSG_DONTWAIT);

    if (n == 0) {
        close(c->fds[0]);
        c->n = 0;
    }
    return n == sizeof *number;
}
