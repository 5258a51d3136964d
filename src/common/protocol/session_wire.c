/*
 * session_wire.c - send and receive messages with descriptors, and codes of errors.
 */
#include "protocol/session_wire.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum header { MAGIC, TEXT, DATA, ZERO, HEADER_WORDS };

/* The step in which memory for arriving bytes grows. */
#define STEP ((size_t)1 << 20)

/* ---- Send ---- */

static int session_socket_failed(struct error *err)
{
    return error_set(err, RAYTRAIN_ECOMM, "the session's socket: %s", strerror(errno));
}

static int bytes_send(int socket, const void *bytes, size_t n, struct error *err)
{
    const char *at = bytes;

    while (n > 0) {
        ssize_t sent = send(socket, at, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return session_socket_failed(err);
        at += sent;
        n -= (size_t)sent;
    }
    return 0;
}

static int header_send(int socket, const uint32_t header[HEADER_WORDS], const int fds[],
                       int n_fds, struct error *err)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))] = {0};
    struct iovec part = {.iov_base = (void *)header,
                         .iov_len = HEADER_WORDS * sizeof *header};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    size_t n = (size_t)n_fds * sizeof(int);
    ssize_t sent;

    if (n_fds > 0) {
        struct cmsghdr *c;

        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(n);
        c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n);
        memcpy(CMSG_DATA(c), fds, n);
    }
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return session_socket_failed(err);
    return bytes_send(socket, (const char *)header + sent, part.iov_len - (size_t)sent,
                      err);
}

int wire_send(int socket, const json_t *text, const void *data, size_t n_data,
              const int fds[], int n_fds, struct error *err)
{
    char *bytes = json_dumps(text, JSON_COMPACT);
    size_t n = bytes ? strlen(bytes) : 0;
    const uint32_t header[HEADER_WORDS] = {[MAGIC] = htole32(WIRE_MAGIC),
                                           [TEXT] = htole32((uint32_t)n),
                                           [DATA] = htole32((uint32_t)n_data)};
    int rc;

    if (!bytes)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for a message");
    if (n > WIRE_MAX || n_data > WIRE_MAX || n_fds > WIRE_FDS_MAX)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "a message of %zu bytes of text and %zu of data is larger than "
                       "the session takes (%zu)",
                       n, n_data, WIRE_MAX);
    else
        rc = header_send(socket, header, fds, n_fds, err);
    if (rc == 0)
        rc = bytes_send(socket, bytes, n, err);
    if (rc == 0 && n_data > 0)
        rc = bytes_send(socket, data, n_data, err);
    free(bytes);
    return rc;
}

/* ---- Receive ---- */

/* The descriptors of a message; those beyond the limit are closed. */
static void fds_take(struct msghdr *header, struct wire_message *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (message->n_fds < WIRE_FDS_MAX)
                message->fds[message->n_fds++] = fd;
            else
                close(fd);
        }
    }
}

/* Fill `bytes` with n bytes, or fewer if the stream ends: how many, or -1. */
static ssize_t bytes_receive(int socket, void *bytes, size_t n,
                             struct wire_message *message, struct error *err)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
    size_t have = 0;

    while (have < n) {
        struct iovec part = {.iov_base = (char *)bytes + have, .iov_len = n - have};
        struct msghdr header = {.msg_iov = &part,
                                .msg_iovlen = 1,
                                .msg_control = control,
                                .msg_controllen = sizeof control};
        ssize_t got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return session_socket_failed(err);
        fds_take(&header, message);
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static int session_message_cut(struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT, "a message of the session was cut short");
}

/* n bytes and a NUL, malloc'ed. */
static int block_receive(int socket, size_t n, char **out, struct wire_message *message,
                         struct error *err)
{
    char *bytes = NULL;
    size_t have = 0;

    do {
        size_t more = n - have < STEP ? n - have : STEP;
        char *grown = realloc(bytes, have + more + 1);
        ssize_t got;

        if (!grown) {
            free(bytes);
            return error_set(err, RAYTRAIN_ENOMEM, "no memory for a message");
        }
        bytes = grown;
        got = bytes_receive(socket, bytes + have, more, message, err);
        if (got != (ssize_t)more) {
            free(bytes);
            return got < 0 ? -1 : session_message_cut(err);
        }
        have += more;
    } while (have < n);
    bytes[n] = '\0';
    *out = bytes;
    return 0;
}

static int text_receive(int socket, size_t n, struct wire_message *message,
                        struct error *err)
{
    json_error_t why;
    char *bytes;

    if (block_receive(socket, n, &bytes, message, err) < 0)
        return -1;
    message->text = json_loadb(bytes, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    free(bytes);
    if (json_is_object(message->text))
        return 0;
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "a message of the session is not a JSON object: %s",
                     message->text ? "it is another value" : why.text);
}

static int body_receive(int socket, const uint32_t header[HEADER_WORDS],
                        struct wire_message *message, struct error *err)
{
    size_t n_text = le32toh(header[TEXT]), n_data = le32toh(header[DATA]);
    char *data = NULL;

    if (le32toh(header[MAGIC]) != WIRE_MAGIC || header[ZERO] != 0)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "what arrived at the session's socket is not a message");
    if (n_text > WIRE_MAX || n_data > WIRE_MAX)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "a message that claims %zu bytes of text and %zu of data is "
                         "larger than the session takes (%zu)",
                         n_text, n_data, WIRE_MAX);
    if (text_receive(socket, n_text, message, err) < 0 ||
        (n_data > 0 && block_receive(socket, n_data, &data, message, err) < 0))
        return -1;
    message->data = data;
    message->n_data = n_data;
    return 0;
}

int wire_receive(int socket, struct wire_message *message, struct error *err)
{
    uint32_t header[HEADER_WORDS];
    ssize_t got;

    *message = (struct wire_message){0};
    got = bytes_receive(socket, header, sizeof header, message, err);
    if (got == 0)
        return 0;
    if (got > 0 && got < (ssize_t)sizeof header)
        got = session_message_cut(err);
    if (got > 0 && body_receive(socket, header, message, err) == 0)
        return 1;
    wire_clear(message);
    return -1;
}

void wire_clear(struct wire_message *message)
{
    json_decref(message->text);
    free(message->data);
    while (message->n_fds > 0)
        close(message->fds[--message->n_fds]);
    *message = (struct wire_message){0};
}

/* ---- Codes ---- */

static const char *const codes[] = {
    [RAYTRAIN_OK] = "OK",
    [RAYTRAIN_EINVAL] = "EINVAL",
    [RAYTRAIN_ETYPE] = "ETYPE",
    [RAYTRAIN_ENOTFOUND] = "ENOTFOUND",
    [RAYTRAIN_ENOMEM] = "ENOMEM",
    [RAYTRAIN_EFIT] = "EFIT",
    [RAYTRAIN_ESTORAGE] = "ESTORAGE",
    [RAYTRAIN_ECORRUPT] = "ECORRUPT",
    [RAYTRAIN_ECOMM] = "ECOMM",
    [RAYTRAIN_EFAILED] = "EFAILED",
    [RAYTRAIN_ESTOPPED] = "ESTOPPED",
    [RAYTRAIN_EUSAGE] = "EUSAGE",
    [RAYTRAIN_ENOTSUP] = "ENOTSUP",
    [RAYTRAIN_END] = "END",
};
#define N_CODES (sizeof codes / sizeof codes[0])

const char *wire_code_name(raytrain_status code)
{
    return (size_t)code < N_CODES ? codes[code] : codes[RAYTRAIN_EFAILED];
}

raytrain_status wire_code(const char *name)
{
    for (size_t i = 0; name && i < N_CODES; i++)
        if (strcmp(codes[i], name) == 0)
            return (raytrain_status)i;
    return RAYTRAIN_EFAILED;
}
