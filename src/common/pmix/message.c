/*
 * message.c - send and receive the messages between a PMIx server's process and its
 * owner.
 */
#include "pmix/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MESSAGE_HEAD offsetof(struct pmix_message, text)

int pmix_message_send(int socket, const struct pmix_message *m)
{
    ssize_t sent;

    do
        sent = send(socket, m, MESSAGE_HEAD + m->n, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

int pmix_text_send(int socket, enum pmix_message_kind kind, int rank, int status,
                   const char *text)
{
    struct pmix_message m = {.kind = kind, .rank = rank, .status = status};

    m.n = (size_t)snprintf(m.text, sizeof m.text, "%s", text) + 1;
    if (m.n > sizeof m.text)
        m.n = sizeof m.text;
    return pmix_message_send(socket, &m);
}

int pmix_message_receive(int socket, bool wait, struct pmix_message *m)
{
    ssize_t got;

    do
        got = recv(socket, m, sizeof *m, wait ? 0 : MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (got < (ssize_t)MESSAGE_HEAD || (size_t)got != MESSAGE_HEAD + m->n)
        return -1;
    return 1;
}

int pmix_fence_send(int socket, const char *data, size_t n)
{
    struct pmix_message m = {.kind = PMIX_MESSAGE_FENCE, .rank = -1};

    do {
        m.n = n < sizeof m.text ? n : sizeof m.text;
        if (m.n > 0)
            memcpy(m.text, data, m.n);
        data += m.n;
        n -= m.n;
        m.status = n > 0;
        if (pmix_message_send(socket, &m) < 0)
            return -1;
    } while (n > 0);
    return 0;
}

int pmix_fence_append(const struct pmix_message *m, char **data, size_t *n)
{
    char *longer = realloc(*data, *n + m->n + 1);

    if (!longer)
        return -1;
    memcpy(longer + *n, m->text, m->n);
    *data = longer;
    *n += m->n;
    return m->status == 0;
}
