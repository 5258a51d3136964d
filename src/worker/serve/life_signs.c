/*
 * life_signs.c - the thread that sends signs of life. service_predictor.c has the
 * connection for batches.
 */
#include "serve/life_signs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/service_socket.h"
#include "util/thread.h"

/* Shorter than the time that a worker may be silent. */
#define EVERY_MS 400

struct life_signs {
    bool (*lives)(void *arg);
    void *arg;
    int socket;
    int end; /* an eventfd; -1: none */
    bool has_thread;
    pthread_t thread;
};

/* If the socket is full, the service has signs to read: none is sent. */
static void *signs_send(void *arg)
{
    const struct life_signs *s = arg;
    struct pollfd end = {.fd = s->end, .events = POLLIN};

    do {
        if (s->lives(s->arg))
            (void)!send(s->socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (poll(&end, 1, EVERY_MS) <= 0);
    return NULL;
}

static int signs_open(struct life_signs *s, const char *path, struct error *err)
{
    s->end = eventfd(0, EFD_CLOEXEC);
    if (s->end < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make an eventfd: %s",
                         strerror(errno));
    if (service_socket_connect(path, &s->socket, err) < 0 ||
        thread_start(&s->thread, signs_send, s, err) < 0)
        return -1;
    s->has_thread = true;
    return 0;
}

int life_signs_start(const char *path, bool (*lives)(void *arg), void *arg,
                     struct life_signs **out, struct error *err)
{
    struct life_signs *s = malloc(sizeof *s);

    if (!s)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for signs of life");
    *s = (struct life_signs){.lives = lives, .arg = arg, .socket = -1, .end = -1};
    if (signs_open(s, path, err) < 0) {
        life_signs_stop(s);
        return -1;
    }
    *out = s;
    return 0;
}

void life_signs_stop(struct life_signs *s)
{
    if (!s)
        return;
    if (s->has_thread) {
        eventfd_write(s->end, 1);
        pthread_join(s->thread, NULL);
    }
    if (s->socket >= 0)
        close(s->socket);
    if (s->end >= 0)
        close(s->end);
    free(s);
}
