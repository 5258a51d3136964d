/*
 * service_wire.c - lay out, read and write the messages between a service and its
 * workers. service_hello.c has the HELLO.
 */
#include "protocol/service_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Memory for a payload starts with this many bytes, and doubles. */
#define STEP ((size_t)1 << 20)

/* ---- Columns ---- */

uint64_t service_row_bytes(const struct service_column *c)
{
    uint64_t bytes = raytrain_dtype_size(c->row.dtype);

    for (int i = 0; i < c->row.ndim; i++)
        if (__builtin_mul_overflow(bytes, c->row.shape[i], &bytes))
            return 0;
    return bytes;
}

/* The next multiple of SERVICE_ALIGN: false if there is none. */
static bool align_up(uint64_t *at)
{
    uint64_t sum;

    if (__builtin_add_overflow(*at, (uint64_t)(SERVICE_ALIGN - 1), &sum))
        return false;
    *at = sum / SERVICE_ALIGN * SERVICE_ALIGN;
    return true;
}

/* Bytes of the rows of numbers, or of the offsets of texts. */
static bool fixed_bytes(const struct service_column *c, uint64_t rows, uint64_t *bytes)
{
    uint64_t width = c->kind == SERVICE_TEXT ? sizeof(uint64_t) : service_row_bytes(c);
    uint64_t n = rows;

    if (c->kind == SERVICE_TEXT && __builtin_add_overflow(rows, (uint64_t)1, &n))
        return false;
    return width > 0 && !__builtin_mul_overflow(n, width, bytes);
}

int service_layout(const struct service_column columns[], size_t n, uint64_t rows,
                   const uint64_t text_sizes[], uint64_t places[], uint64_t *bytes,
                   struct error *err)
{
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t size,
            text = columns[i].kind == SERVICE_TEXT && text_sizes ? text_sizes[i] : 0;

        if (!align_up(&at) || !fixed_bytes(&columns[i], rows, &size) ||
            __builtin_add_overflow(size, text, &size))
            size = UINT64_MAX;
        places[i] = at;
        if (__builtin_add_overflow(at, size, &at) || at > SERVICE_MAX)
            return error_set(err, RAYTRAIN_EFIT,
                             "%llu rows are more than one batch can have: column "
                             "\"%s\" does not fit in a message of %llu bytes; send "
                             "fewer rows at once",
                             (unsigned long long)rows, columns[i].name,
                             (unsigned long long)SERVICE_MAX);
    }
    *bytes = at;
    return 0;
}

static int payload_short(const struct service_column *c, uint64_t rows,
                         struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "a message of the service is too short for %llu rows: column "
                     "\"%s\" is not in it",
                     (unsigned long long)rows, c->name);
}

/* The texts have `left` bytes at most. *bytes is how many they have. */
static int offsets_check(const struct service_column *c, const uint64_t offsets[],
                         uint64_t rows, uint64_t left, uint64_t *bytes,
                         struct error *err)
{
    bool good = offsets[0] == 0;

    for (uint64_t i = 0; good && i < rows; i++)
        good = offsets[i] <= offsets[i + 1];
    if (!good || offsets[rows] > left)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "a message of the service has texts of column \"%s\" that "
                         "begin or end outside of it",
                         c->name);
    *bytes = offsets[rows];
    return 0;
}

int service_find(const struct service_column columns[], size_t n, uint64_t rows,
                 const unsigned char *payload, uint64_t bytes,
                 struct service_rows found[], struct error *err)
{
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const struct service_column *c = &columns[i];
        uint64_t size, text = 0;

        if (!align_up(&at) || !fixed_bytes(c, rows, &size) || at > bytes ||
            size > bytes - at)
            return payload_short(c, rows, err);
        found[i] = (struct service_rows){.data = payload + at};
        at += size;
        if (c->kind == SERVICE_TEXT) {
            found[i].offsets = (const uint64_t *)(const void *)found[i].data;
            found[i].data = payload + at;
            if (offsets_check(c, found[i].offsets, rows, bytes - at, &text, err) < 0)
                return -1;
        }
        at += text;
    }
    if (at != bytes)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "a message of the service has %llu bytes, and its %llu rows "
                         "%llu",
                         (unsigned long long)bytes, (unsigned long long)rows,
                         (unsigned long long)at);
    return 0;
}

/* ---- Receive ---- */

void service_reader_init(struct service_reader *r, uint64_t limit)
{
    *r = (struct service_reader){.limit = limit};
}

void service_reader_clear(struct service_reader *r)
{
    free(r->payload);
    *r = (struct service_reader){.limit = r->limit};
}

unsigned char *service_reader_take(struct service_reader *r)
{
    unsigned char *payload = r->payload;

    r->payload = NULL;
    r->room = 0;
    return payload;
}

static int service_socket_failed(struct error *err)
{
    return error_set(err, RAYTRAIN_ECOMM, "the socket of a service: %s",
                     strerror(errno));
}

static int service_socket_closed(struct error *err)
{
    return error_set(err, RAYTRAIN_ECOMM,
                     "the socket of a service: it was closed in the middle of a "
                     "message");
}

/* Receive until there are `wanted` bytes. */
static int part_read(int socket, void *bytes, size_t wanted, size_t *have,
                     struct error *err)
{
    while (*have < wanted) {
        ssize_t got = recv(socket, (char *)bytes + *have, wanted - *have, 0);

        if (got > 0)
            *have += (size_t)got;
        else if (got == 0)
            return SERVICE_CLOSED;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return SERVICE_LATER;
        else if (errno != EINTR)
            return service_socket_failed(err);
    }
    return SERVICE_DONE;
}

static int header_check(const struct service_reader *r, struct error *err)
{
    const struct service_header *h = &r->header;
    bool is_text = h->kind == SERVICE_HELLO || h->kind == SERVICE_FAILED;
    uint64_t limit =
        is_text && r->limit > SERVICE_TEXT_MAX ? SERVICE_TEXT_MAX : r->limit;

    if (h->magic != SERVICE_MAGIC || h->kind < SERVICE_HELLO ||
        h->kind > SERVICE_FAILED)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "what arrived at the socket of a service is not a message");
    if (h->bytes > limit)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "a message of a service claims %llu bytes, and may have %llu",
                         (unsigned long long)h->bytes, (unsigned long long)limit);
    return 0;
}

/* Get more memory if it is full. */
static int reader_grow(struct service_reader *r, struct error *err)
{
    size_t wanted = r->room < STEP ? STEP : 2 * r->room;
    unsigned char *grown;

    if (r->payload_n < r->room)
        return 0;
    if (wanted > r->header.bytes)
        wanted = ((size_t)r->header.bytes + SERVICE_ALIGN - 1) / SERVICE_ALIGN *
                 SERVICE_ALIGN;
    grown = aligned_alloc(SERVICE_ALIGN, wanted);
    if (!grown)
        return error_no_memory(err);
    if (r->payload_n > 0)
        memcpy(grown, r->payload, r->payload_n);
    free(r->payload);
    r->payload = grown;
    r->room = wanted;
    return 0;
}

static int payload_read(struct service_reader *r, int socket, struct error *err)
{
    size_t bytes = (size_t)r->header.bytes;

    while (r->payload_n < bytes) {
        int rc = reader_grow(r, err);

        if (rc == 0)
            rc = part_read(socket, r->payload, r->room < bytes ? r->room : bytes,
                           &r->payload_n, err);
        if (rc == SERVICE_CLOSED)
            return service_socket_closed(err);
        if (rc != SERVICE_DONE)
            return rc;
    }
    r->complete = true;
    return SERVICE_DONE;
}

int service_read(struct service_reader *r, int socket, struct error *err)
{
    int rc;

    if (r->complete) {
        r->complete = false;
        r->header_n = r->payload_n = 0;
    }
    rc = part_read(socket, &r->header, sizeof r->header, &r->header_n, err);
    if (rc == SERVICE_CLOSED && r->header_n > 0)
        return service_socket_closed(err);
    if (rc != SERVICE_DONE)
        return rc;
    if (header_check(r, err) < 0)
        return -1;
    return payload_read(r, socket, err);
}

/* ---- Send ---- */

void service_writer_begin(struct service_writer *w, enum service_kind kind, uint64_t id,
                          uint64_t rows, const void *payload, uint64_t bytes)
{
    *w = (struct service_writer){.header = {.magic = SERVICE_MAGIC,
                                            .kind = (uint32_t)kind,
                                            .id = id,
                                            .rows = rows,
                                            .bytes = bytes},
                                 .payload = payload};
}

/* What is left of the message, in one or two parts. */
static int parts_left(const struct service_writer *w, struct iovec parts[2])
{
    const size_t head = sizeof w->header;
    size_t body = w->sent > head ? (size_t)w->sent - head : 0;
    int n = 0;

    if (w->sent < head)
        parts[n++] = (struct iovec){.iov_base = (char *)&w->header + w->sent,
                                    .iov_len = head - (size_t)w->sent};
    if (body < w->header.bytes)
        parts[n++] = (struct iovec){.iov_base = (char *)w->payload + body,
                                    .iov_len = (size_t)w->header.bytes - body};
    return n;
}

int service_write(struct service_writer *w, int socket, struct error *err)
{
    struct iovec parts[2];
    int n;

    while ((n = parts_left(w, parts)) > 0) {
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)n};
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);

        if (sent >= 0)
            w->sent += (uint64_t)sent;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return SERVICE_LATER;
        else if (errno != EINTR)
            return service_socket_failed(err);
    }
    return SERVICE_DONE;
}
