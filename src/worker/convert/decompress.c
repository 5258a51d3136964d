/*
 * decompress.c - see decompress.h. First the two formats, then which rank decompresses
 * what.
 */
#include "config.h"

#include "convert/decompress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#include "util/fs.h"

#define BUFFER_BYTES ((size_t)256 * 1024)
#define WINDOW_GZIP  (15 + 16) /* largest window; gzip wrapping only */
#define GZIP_MAGIC   0x1f      /* the first byte of a member */
#define HEAD_BYTES   4

/* A file that is being decompressed. */
struct stream {
    const char *name;
    int from, to;
    const char *to_path;
    const struct text_watch *watch;
    bool padded; /* zeros follow the last member of gzip */
    unsigned char in[BUFFER_BYTES], out[BUFFER_BYTES];
};

static int stream_damaged(const struct stream *s, const char *why, const char *check,
                          struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: %s; copy or compress it again (%s checks a file)", s->name,
                     why, check);
}

/* Fill `in` with the next bytes of the file; *n is 0 at its end. */
static int input(struct stream *s, size_t *n, struct error *err)
{
    ssize_t got;

    if (text_proceed(s->watch, err) < 0)
        return -1;
    do
        got = read(s->from, s->in, sizeof s->in);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fs_error(err, "read", s->name);
    *n = (size_t)got;
    return 0;
}

static int output(const struct stream *s, size_t n, struct error *err)
{
    if (n == 0 || fs_write_full(s->to, s->out, n) == 0)
        return 0;
    return fs_error(err, "write", s->to_path);
}

/* ---- gzip: one member or several ---- */

/* After a member: begin the next one if there is one, else leave *state at
 * Z_STREAM_END. As gzip does, ignore zeros at the end of the file: tapes leave them. */
static int gzip_next(struct stream *s, z_stream *z, int *state, struct error *err)
{
    for (; z->avail_in > 0 && *z->next_in == 0; z->next_in++, z->avail_in--)
        s->padded = true;
    if (z->avail_in == 0)
        return 0;
    if (s->padded || *z->next_in != GZIP_MAGIC)
        return error_set(
            err, RAYTRAIN_ECORRUPT,
            "%s: other bytes follow the compressed data; compress the file again",
            s->name);
    *state = Z_OK;
    return inflateReset(z) == Z_OK ? 0 : error_no_memory(err);
}

/* Decompress all bytes in z->next_in. */
static int gzip_feed(struct stream *s, z_stream *z, int *state, struct error *err)
{
    do {
        if (*state == Z_STREAM_END && gzip_next(s, z, state, err) < 0)
            return -1;
        if (*state == Z_STREAM_END)
            return 0;
        z->next_out = s->out;
        z->avail_out = sizeof s->out;
        *state = inflate(z, Z_NO_FLUSH);
        if (*state == Z_MEM_ERROR)
            return error_no_memory(err);
        if (*state != Z_OK && *state != Z_STREAM_END && *state != Z_BUF_ERROR)
            return stream_damaged(s, "the compressed data are damaged", "gzip -t", err);
        if (output(s, sizeof s->out - z->avail_out, err) < 0)
            return -1;
    } while (z->avail_in > 0 || (*state != Z_STREAM_END && z->avail_out == 0));
    return 0;
}

static int gzip_decompress(struct stream *s, struct error *err)
{
    z_stream z = {.next_in = s->in};
    int state = Z_OK, rc = 0;
    size_t n = 1;

    if (inflateInit2(&z, WINDOW_GZIP) != Z_OK)
        return error_no_memory(err);
    while (rc == 0 && (rc = input(s, &n, err)) == 0 && n > 0) {
        z.next_in = s->in;
        z.avail_in = (uInt)n;
        rc = gzip_feed(s, &z, &state, err);
    }
    if (rc == 0 && state != Z_STREAM_END)
        rc = stream_damaged(s, "the compressed data end too early", "gzip -t", err);
    inflateEnd(&z);
    return rc;
}

/* ---- zstd: one frame or several ---- */

#ifdef HAVE_ZSTD

static int zstd_fail(const struct stream *s, size_t state, struct error *err)
{
    switch (ZSTD_getErrorCode(state)) {
    case ZSTD_error_memory_allocation:
        return error_no_memory(err);
    case ZSTD_error_frameParameter_windowTooLarge:
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "%s: decompressing it needs a window of more than 128 MiB; "
                         "compress it without --long, or with --long=27 at most",
                         s->name);
    default:
        return stream_damaged(s, "the compressed data are damaged", "zstd -t", err);
    }
}

static int zstd_feed(struct stream *s, ZSTD_DStream *z, size_t n, size_t *state,
                     struct error *err)
{
    ZSTD_inBuffer in = {.src = s->in, .size = n};
    ZSTD_outBuffer out;

    do {
        out = (ZSTD_outBuffer){.dst = s->out, .size = sizeof s->out};
        *state = ZSTD_decompressStream(z, &out, &in);
        if (ZSTD_isError(*state))
            return zstd_fail(s, *state, err);
        if (output(s, out.pos, err) < 0)
            return -1;
    } while (in.pos < in.size || out.pos == out.size);
    return 0;
}

static int zstd_decompress(struct stream *s, struct error *err)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    size_t n = 1, state = 1;
    int rc = z ? 0 : error_no_memory(err);

    while (rc == 0 && (rc = input(s, &n, err)) == 0 && n > 0)
        rc = zstd_feed(s, z, n, &state, err);
    if (rc == 0 && state != 0)
        rc = stream_damaged(s, "the compressed data end too early", "zstd -t", err);
    ZSTD_freeDStream(z);
    return rc;
}

#else

static int zstd_decompress(struct stream *s, struct error *err)
{
    return error_set(
        err, RAYTRAIN_ENOTSUP,
        "%s: raytrain was built without zstd (libzstd-dev); decompress the "
        "file, or compress it with gzip",
        s->name);
}

#endif

/* ---- Which rank decompresses which file ---- */

static const struct compression {
    unsigned char magic[HEAD_BYTES];
    size_t n;
    int (*decompress)(struct stream *s, struct error *err);
} compressions[] = {
    {{0x1f, 0x8b}, 2, gzip_decompress},
    {{0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_decompress},
};

#define N_COMPRESSIONS (sizeof compressions / sizeof *compressions)

/* How an open file is compressed; *found is NULL if it is not. */
static int compression_find(int fd, const char *path, const struct compression **found,
                            struct error *err)
{
    unsigned char head[HEAD_BYTES] = {0};

    *found = NULL;
    if (fs_pread_full(fd, head, sizeof head, 0) < 0)
        return errno == ENODATA ? 0 : fs_error(err, "read", path);
    for (size_t i = 0; i < N_COMPRESSIONS; i++)
        if (memcmp(head, compressions[i].magic, compressions[i].n) == 0)
            *found = &compressions[i];
    return 0;
}

static void plain_path(char path[PATH_MAX], const char *directory, size_t i)
{
    snprintf(path, PATH_MAX, "%s/.plain-%05zu", directory, i);
}

static int plain_open(struct decompressed *plain, const char *directory, size_t i,
                      char path[PATH_MAX], struct error *err)
{
    int fd;

    plain_path(path, directory ? directory : "/tmp", i);
    if (directory) {
        fd = open(path, FS_CREATE | O_EXCL, 0600);
    } else {
        const char *tmp = getenv("TMPDIR");

        snprintf(path, PATH_MAX, "%s/.plain-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    if (fd < 0)
        return fs_error(err, "create", path);
    plain->fds[i] = fd;
    plain->paths[i] = strdup(path);
    return plain->paths[i] ? 0 : error_no_memory(err);
}

static int file_decompress(struct decompressed *plain, const char *directory, size_t i,
                           const struct text_source *source, int from,
                           const struct compression *compression, struct error *err)
{
    struct stream *s = malloc(sizeof *s);
    char path[PATH_MAX];
    int rc = s ? 0 : error_no_memory(err);

    if (rc == 0)
        rc = plain_open(plain, directory, i, path, err);
    if (rc == 0) {
        s->name = source->path;
        s->watch = source->watch;
        s->from = from;
        s->to = plain->fds[i];
        s->to_path = path;
        s->padded = false;
        rc = compression->decompress(s, err);
    }
    if (rc == 0 && directory && fsync(plain->fds[i]) < 0)
        rc = fs_error(err, "write", path);
    free(s);
    return rc;
}

/* Decompress source i if it is compressed, and say so in *compressed. */
static int source_look(struct decompressed *plain, const char *directory, size_t i,
                       const struct text_source *source, int64_t *compressed,
                       struct error *err)
{
    int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;
    const struct compression *compression;

    if (fd < 0)
        return fs_error(err, "open", source->path);
    rc = compression_find(fd, source->path, &compression, err);
    *compressed = rc == 0 && compression;
    if (*compressed)
        rc = file_decompress(plain, directory, i, source, fd, compression, err);
    close(fd);
    return rc;
}

/* Make source i the decompressed file, if this process can open it. */
static int source_replace(struct decompressed *plain, const char *directory, size_t i,
                          struct text_source *source, struct error *err)
{
    char path[PATH_MAX];

    if (directory)
        plain_path(path, directory, i);
    else
        snprintf(path, sizeof path, "/proc/self/fd/%d", plain->fds[i]);
    free(plain->paths[i]);
    plain->paths[i] = strdup(path);
    if (!plain->paths[i])
        return error_no_memory(err);
    source->name = source->path;
    source->path = plain->paths[i];
    return 0;
}

static int plain_create(struct decompressed *plain, size_t n, struct error *err)
{
    *plain = (struct decompressed){.paths = calloc(n + 1, sizeof(char *)),
                                   .fds = calloc(n + 1, sizeof(int)),
                                   .n = n};
    for (size_t i = 0; plain->fds && i < n; i++)
        plain->fds[i] = -1;
    return plain->paths && plain->fds ? 0 : error_no_memory(err);
}

int sources_decompress(struct comm *all, const char *directory,
                       struct text_source sources[], size_t n,
                       struct decompressed *plain, struct error *err)
{
    int64_t *compressed = calloc(n + 1, sizeof *compressed);
    size_t size = (size_t)all->size;
    int rc = compressed ? 0 : error_no_memory(err);

    if (plain_create(plain, n, rc == 0 ? err : NULL) < 0)
        rc = -1;
    rc = comm_agree(all, rc, err);
    for (size_t i = (size_t)all->rank; rc == 0 && i < n; i += size)
        rc = source_look(plain, directory, i, &sources[i], &compressed[i], err);
    rc = comm_agree(all, rc, err);
    if (rc == 0 && n > 0)
        rc = all->ops->allreduce(all, compressed, n, COMM_INT64, COMM_MAX, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (compressed[i])
            rc = source_replace(plain, directory, i, &sources[i], err);
    free(compressed);
    return comm_agree(all, rc, err);
}

void decompressed_clear(struct decompressed *plain)
{
    for (size_t i = 0; plain->paths && plain->fds && i < plain->n; i++) {
        if (plain->fds[i] >= 0) {
            close(plain->fds[i]);
            if (plain->paths[i])
                unlink(plain->paths[i]);
        }
        free(plain->paths[i]);
    }
    free(plain->paths);
    free(plain->fds);
    *plain = (struct decompressed){.n = 0};
}
