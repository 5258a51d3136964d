/*
 * source.c - opens and reads text files, detects changes while they are read, and finds
 * the line of an error.
 */
#include "text/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"

int text_open(struct text_file *f, const struct text_source *source, struct error *err)
{
    struct stat st;

    f->name = source->name ? source->name : source->path;
    f->watch = source->watch;
    /* Do not wait: it may be a FIFO. */
    f->fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (f->fd < 0 || fstat(f->fd, &st) < 0) {
        fs_error(err, "read", f->name);
        text_close(f);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        text_close(f);
        return error_set(err, RAYTRAIN_EINVAL, "%s is not a regular file", f->name);
    }
    f->size = (uint64_t)st.st_size;
    f->changed = st.st_mtim;
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* advice only */
    return 0;
}

void text_close(struct text_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static int source_changed(const struct text_file *f, struct error *err)
{
    return error_set(
        err, RAYTRAIN_ECORRUPT,
        "%s was written to while it was read; start again when it is complete",
        f->name);
}

int text_proceed(const struct text_watch *watch, struct error *err)
{
    return watch && watch->proceed ? watch->proceed(watch->arg, err) : 0;
}

int text_read(const struct text_file *f, char *bytes, size_t n, uint64_t at,
              struct error *err)
{
    if (text_proceed(f->watch, err) < 0)
        return -1;
    if (fs_pread_full(f->fd, bytes, n, at) == 0)
        return 0;
    return errno == ENODATA ? source_changed(f, err) : fs_error(err, "read", f->name);
}

int text_unchanged(const struct text_file *f, struct error *err)
{
    struct stat st;

    if (fstat(f->fd, &st) < 0)
        return fs_error(err, "read", f->name);
    if ((uint64_t)st.st_size != f->size || st.st_mtim.tv_sec != f->changed.tv_sec ||
        st.st_mtim.tv_nsec != f->changed.tv_nsec)
        return source_changed(f, err);
    return 0;
}

int text_mark(const struct text_file *f, const char *bytes, size_t n, size_t *mark,
              struct error *err)
{
    static const char utf8[] = {'\xef', '\xbb', '\xbf'};
    const char *other = NULL;

    if (n >= 4 && (memcmp(bytes, "\xff\xfe\0\0", 4) == 0 ||
                   memcmp(bytes, "\0\0\xfe\xff", 4) == 0))
        other = "UTF-32";
    else if (n >= 2 &&
             (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
        other = "UTF-16";
    *mark = n >= sizeof utf8 && memcmp(bytes, utf8, sizeof utf8) == 0 ? sizeof utf8 : 0;
    if (!other)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s: the text is in %s, and only UTF-8 is read: convert it with "
                     "iconv -f %s -t UTF-8 IN >OUT",
                     f->name, other, other);
}

/* Lines end with LF, CR or CR LF. */
static uint64_t lines_of(const char *bytes, size_t n, char *before)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < n; i++) {
        lines += bytes[i] == '\r' || (bytes[i] == '\n' && *before != '\r');
        *before = bytes[i];
    }
    return lines;
}

int text_line(const struct text_file *f, uint64_t at, uint64_t *line)
{
    size_t room = 1 << 20;
    char *bytes = malloc(room), before = '\0';
    uint64_t done = 0;

    *line = 1;
    while (bytes && done < at) {
        size_t n = at - done < room ? (size_t)(at - done) : room;

        if (fs_pread_full(f->fd, bytes, n, done) < 0)
            break;
        *line += lines_of(bytes, n, &before);
        done += n;
    }
    free(bytes);
    return done < at ? -1 : 0;
}

int text_error_at(const struct text_file *f, uint64_t at, struct error *err)
{
    uint64_t line;

    if (text_line(f, at, &line) < 0)
        return error_prefix(err, "%s, byte %llu", f->name, (unsigned long long)at);
    return error_prefix(err, "%s:%llu", f->name, (unsigned long long)line);
}
