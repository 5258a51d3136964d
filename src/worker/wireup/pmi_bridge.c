/*
 * pmi_bridge.c - see pmi_bridge.h.
 *
 * Descriptors: ours is closed by stop. The client's end belongs to the MPI library from
 * its first command on: it closes that itself in MPI_Finalize, so that at the time of
 * stop the number may belong to another file. Until then the end is ours. A child has a
 * copy of it.
 */
#include "config.h"

#include "wireup/pmi_bridge.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/thread.h"

struct pmi_bridge {
    struct pmi1_config config;
    struct pmi1 *protocol;
    pthread_t thread;
    int ours, theirs;
    bool of_child;
    atomic_int client;   /* of a child: the pid of the last request */
    atomic_bool claimed; /* the client has spoken: `theirs` is the library's, unless
                            that is in a child */
};

static int reply_send(int fd, const char *reply, struct error *err)
{
    size_t n = strlen(reply);

    while (n > 0) {
        ssize_t k = send(fd, reply, n, MSG_NOSIGNAL);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return error_set(err, RAYTRAIN_ECOMM,
                             "PMI bridge: cannot answer the MPI library: %s",
                             strerror(errno));
        reply += k;
        n -= (size_t)k;
    }
    return 0;
}

static enum pmi1_next line_answer(struct pmi_bridge *b, char *line, struct error *err)
{
    const char *reply;
    enum pmi1_next next = pmi1_line(b->protocol, line, &reply, err);

    if (next != PMI1_ERROR && reply_send(b->ours, reply, err) < 0)
        return PMI1_ERROR;
    return next;
}

/* Answer all complete lines in in[0..*have), and keep the rest. */
static enum pmi1_next lines_answer(struct pmi_bridge *b, char *in, size_t *have,
                                   struct error *err)
{
    enum pmi1_next next = PMI1_GO_ON;
    char *line = in, *end = in + *have, *newline;

    while (next == PMI1_GO_ON && (newline = memchr(line, '\n', (size_t)(end - line)))) {
        *newline = '\0';
        next = line_answer(b, line, err);
        line = newline + 1;
    }
    *have = (size_t)(end - line);
    memmove(in, line, *have);
    if (next == PMI1_GO_ON && *have == PMI1_LINE_MAX)
        return error_set(
            err, RAYTRAIN_ECOMM,
            "PMI bridge: the MPI library sent a line of more than %d bytes",
            PMI1_LINE_MAX);
    return next;
}

/* read(2), and which process has written it. */
static ssize_t request_read(struct pmi_bridge *b, char *in, size_t room)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec data = {.iov_base = in, .iov_len = room};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t k = recvmsg(b->ours, &m, 0);
    struct cmsghdr *c = k > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    struct ucred sender;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&sender, CMSG_DATA(c), sizeof sender);
        atomic_store(&b->client, sender.pid);
    }
    return k;
}

/* The thread. It ends when the client finalizes, or when the connection ends; a client
 * that still waits for an answer then sees end of file. */
static void *bridge_serve(void *arg)
{
    struct pmi_bridge *b = arg;
    enum pmi1_next next = PMI1_GO_ON;
    char in[PMI1_LINE_MAX];
    size_t have = 0;
    struct error err;

    while (next == PMI1_GO_ON) {
        ssize_t k = request_read(b, in + have, sizeof in - have);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return NULL;
        atomic_store(&b->claimed, true);
        have += (size_t)k;
        next = lines_answer(b, in, &have, &err);
    }
    if (next == PMI1_ERROR)
        b->config.ops->abort(b->config.arg, 1, err.text);
    shutdown(b->ours, SHUT_RDWR);
    return NULL;
}

static int environment_set(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    return setenv(name, text, 1);
}

/* The process that started this one may have left its own PMI in the environment: none
 * of it is ours. */
static int environment_show(const struct pmi_bridge *b)
{
    static const char *const foreign[] = {"PMI_PORT", "PMI_ID", "PMI_SPAWNED"};

    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        unsetenv(foreign[i]);
    if (environment_set("PMI_FD", b->theirs) < 0 ||
        environment_set("PMI_RANK", b->config.rank) < 0)
        return -1;
    return environment_set("PMI_SIZE", b->config.size);
}

void pmi_bridge_hide(void)
{
    unsetenv("PMI_FD");
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
}

static void bridge_free(struct pmi_bridge *b)
{
    if (b->ours >= 0)
        close(b->ours);
    if (b->theirs >= 0 && (b->of_child || !atomic_load(&b->claimed)))
        close(b->theirs);
    pmi1_destroy(b->protocol);
    free(b);
}

/* A bridge whose thread does not run yet; NULL and *err. */
static struct pmi_bridge *bridge_create(const struct pmi1_config *config,
                                        struct error *err)
{
    struct pmi_bridge *b = calloc(1, sizeof *b);
    int pair[2] = {-1, -1};

    if (!b) {
        error_set(err, RAYTRAIN_ENOMEM, "no memory for the PMI bridge");
        return NULL;
    }
    b->ours = b->theirs = -1;
    b->config = *config;
    b->protocol = pmi1_create(config, err);
    if (!b->protocol)
        goto fail;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        error_set(err, RAYTRAIN_ECOMM, "PMI bridge: no socket pair: %s",
                  strerror(errno));
        goto fail;
    }
    b->ours = pair[0];
    b->theirs = pair[1];
    return b;
fail:
    bridge_free(b);
    return NULL;
}

static int bridge_run(struct pmi_bridge *b, struct error *err)
{
    if (thread_start(&b->thread, bridge_serve, b, err) < 0)
        return error_prefix(err, "PMI bridge");
    return 0;
}

int pmi_bridge_start(const struct pmi1_config *config, struct pmi_bridge **out,
                     struct error *err)
{
    struct pmi_bridge *b = bridge_create(config, err);
    int rc = -1;

    *out = NULL;
    if (!b)
        return -1;
    if (environment_show(b) < 0)
        error_set(err, RAYTRAIN_ENOMEM, "PMI bridge: no memory for its environment");
    else
        rc = bridge_run(b, err);
    if (rc < 0) {
        pmi_bridge_hide();
        bridge_free(b);
        return -1;
    }
    *out = b;
    return 0;
}

int pmi_bridge_start_child(const struct pmi1_config *config, struct pmi_bridge **out,
                           int *fd, struct error *err)
{
    struct pmi_bridge *b = bridge_create(config, err);
    static const int yes = 1;

    *out = NULL;
    if (!b)
        return -1;
    b->of_child = true;
    (void)setsockopt(b->ours, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
    if (bridge_run(b, err) < 0) {
        bridge_free(b);
        return -1;
    }
    *fd = b->theirs;
    *out = b;
    return 0;
}

pid_t pmi_bridge_client(const struct pmi_bridge *b)
{
    return atomic_load(&b->client);
}

bool pmi_bridge_used(const struct pmi_bridge *b)
{
    return atomic_load(&b->claimed);
}

void pmi_bridge_stop(struct pmi_bridge *b)
{
    if (!b)
        return;
    shutdown(b->ours, SHUT_RDWR);
    pthread_join(b->thread, NULL);
    if (!b->of_child)
        pmi_bridge_hide();
    bridge_free(b);
}
