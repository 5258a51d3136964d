/*
 * slab_io.c - read the bytes of a slab from a file, with several threads if it is
 * large, and gather small writes. slab.c computes where they are.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "checkpoint/slab_io.h"
#include "util/fs.h"
#include "util/thread.h"

/* Segments shorter than this are read through a window, many at a time. */
#define SHORT_SEGMENT 65536u
#define WINDOW_BYTES  (1u << 20)

/* Bytes [start, end) of the tensor. */
struct window {
    unsigned char *data;
    uint64_t start, end;
};

/* Read into the window from `offset` on, but nothing from `end` on. */
static int window_move(struct window *w, int fd, uint64_t base, uint64_t offset,
                       uint64_t end)
{
    uint64_t n = end - offset < WINDOW_BYTES ? end - offset : WINDOW_BYTES;

    if (fs_pread_full(fd, w->data, n, base + offset) < 0)
        return -1;
    w->start = offset;
    w->end = offset + n;
    return 0;
}

static int read_short_segments(int fd, uint64_t base, const struct slab_stream *stream,
                               uint64_t from, uint64_t to, unsigned char *out)
{
    struct window w = {.data = malloc(WINDOW_BYTES)};
    uint64_t left, last = slab_stream_at(stream, to - 1, &left) + 1;
    int rc = w.data ? 0 : -1;

    while (rc == 0 && from < to) {
        uint64_t offset = slab_stream_at(stream, from, &left);
        uint64_t n = left < to - from ? left : to - from;

        if (offset < w.start || offset + n > w.end)
            rc = window_move(&w, fd, base, offset, last);
        if (rc < 0)
            break;
        memcpy(out, w.data + (offset - w.start), n);
        out += n;
        from += n;
    }
    int saved = errno;
    free(w.data);
    errno = saved;
    return rc;
}

int slab_read(int fd, uint64_t base, const struct slab_stream *stream, uint64_t from,
              uint64_t to, void *data)
{
    unsigned char *out = data;
    uint64_t left;

    if (from >= to)
        return 0;
    if (stream->segment_bytes < SHORT_SEGMENT && to - from > stream->segment_bytes)
        return read_short_segments(fd, base, stream, from, to, out);
    while (from < to) {
        uint64_t offset = slab_stream_at(stream, from, &left);
        uint64_t n = left < to - from ? left : to - from;

        if (fs_pread_full(fd, out, n, base + offset) < 0)
            return -1;
        out += n;
        from += n;
    }
    return 0;
}

/* ---- Large reads ---- */

#define READERS_MAX  4           /* more do not help: memory is the limit */
#define READER_BYTES (32u << 20) /* each reads at least this number of bytes */

/* A thread that reads bytes [from, to) of the stream. */
struct reader {
    int fd;
    uint64_t base, from, to;
    const struct slab_stream *stream;
    unsigned char *data; /* of the whole stream */
    int error;           /* errno; 0: all is read */
    pthread_t thread;
};

static void *reader_run(void *arg)
{
    struct reader *r = arg;

    if (slab_read(r->fd, r->base, r->stream, r->from, r->to, r->data + r->from) < 0)
        r->error = errno;
    return NULL;
}

int slab_readers(uint64_t bytes)
{
    uint64_t most = bytes / READER_BYTES;
    int n = thread_cores(most < READERS_MAX ? (int)most : READERS_MAX);

    return n > 1 ? n : 1;
}

int slab_read_all(int fd, uint64_t base, const struct slab_stream *stream, void *data)
{
    struct reader readers[READERS_MAX];
    bool started[READERS_MAX] = {false};
    int n = slab_readers(stream->bytes), error = 0;
    uint64_t share;

    share = stream->bytes / (uint64_t)n;
    share -= share % 4096; /* threads do not share pages */
    for (int i = 0; i < n; i++)
        readers[i] =
            (struct reader){.fd = fd,
                            .base = base,
                            .from = (uint64_t)i * share,
                            .to = i < n - 1 ? (uint64_t)(i + 1) * share : stream->bytes,
                            .stream = stream,
                            .data = data};
    for (int i = 1; i < n; i++)
        started[i] =
            thread_start(&readers[i].thread, reader_run, &readers[i], NULL) == 0;
    /* This thread takes the shares that got no thread. */
    for (int i = 0; i < n; i++)
        if (!started[i])
            reader_run(&readers[i]);
    for (int i = 0; i < n; i++) {
        if (started[i])
            pthread_join(readers[i].thread, NULL);
        error = error ? error : readers[i].error;
    }
    errno = error;
    return error ? -1 : 0;
}

/* ---- The writer ---- */

struct slab_writer {
    int fd;
    int n;
    uint64_t offset; /* of the first vector, in the file */
    uint64_t end;    /* of the last one */
    struct iovec vectors[WRITER_VECTORS];
};

struct slab_writer *slab_writer_create(int fd)
{
    struct slab_writer *w = calloc(1, sizeof *w);

    if (w)
        w->fd = fd;
    return w;
}

int slab_writer_flush(struct slab_writer *w)
{
    struct iovec *v = w->vectors;

    while (w->n > 0) {
        ssize_t k = pwritev(w->fd, v, w->n, (off_t)w->offset);

        if (k < 0 && errno == EINTR)
            continue;
        if (k == 0)
            errno = EIO;
        if (k <= 0)
            return -1;
        w->offset += (uint64_t)k;
        while (w->n > 0 && (size_t)k >= v->iov_len) {
            k -= (ssize_t)v->iov_len;
            v++;
            w->n--;
        }
        if (w->n > 0) {
            v->iov_base = (char *)v->iov_base + k;
            v->iov_len -= (size_t)k;
        }
    }
    return 0;
}

int slab_writer_add(struct slab_writer *w, const void *data, size_t n, uint64_t offset)
{
    if (n == 0)
        return 0;
    if (w->n > 0 &&
        (w->end != offset || w->n == WRITER_VECTORS ||
         w->end - w->offset >= 4 * CHUNK_BYTES) &&
        slab_writer_flush(w) < 0)
        return -1;
    if (w->n == 0)
        w->offset = w->end = offset;
    w->vectors[w->n++] = (struct iovec){(void *)data, n};
    w->end += n;
    return 0;
}

void slab_writer_destroy(struct slab_writer *w)
{
    free(w);
}
