/* journal.c - files of a journal; the reader; the writer. */
#include "config.h"

#include "run/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"
#include "util/run_record.h"

#define FIRST_BYTES 65536
#define DOUBLINGS   14 /* up to 1 GiB */
#define CONTINUED   "+\n"
#define WINDOW      65536

/* ---- Files ---- */

static char *file_path(const char *dir, const char *name, unsigned file)
{
    char *path;

    return asprintf(&path, "%s/%s.%u", dir, name, file) < 0 ? NULL : path;
}

/* With room for a line of n bytes and the end of the file. */
static uint64_t file_bytes(unsigned file, size_t n)
{
    uint64_t bytes = (uint64_t)FIRST_BYTES << (file < DOUBLINGS ? file : DOUBLINGS);

    while (bytes < n + strlen(CONTINUED))
        bytes *= 2;
    return bytes;
}

static int journal_file_create(const char *path, uint64_t bytes, struct error *err)
{
    return fs_replace_padded(path, "", 0, bytes, 0666, err);
}

int journal_create(const char *dir, const char *name, struct error *err)
{
    char *path = file_path(dir, name, 0);
    int rc;

    if (!path)
        return error_no_memory(err);
    rc = access(path, F_OK) == 0 ? 0 : journal_file_create(path, file_bytes(0, 0), err);
    free(path);
    return rc;
}

void journal_tidy(const char *dir, const char *name)
{
    char *path = file_path(dir, name, 0);

    if (path)
        fs_remove_temps(path);
    free(path);
}

void journal_remove(const char *dir, const char *name)
{
    bool there = true;

    for (unsigned file = 0; there; file++) {
        char *path = file_path(dir, name, file);

        there = path && unlink(path) == 0;
        free(path);
    }
}

/* A full file is durable once the next one exists. */
int journal_sync(const char *dir, const char *name, struct error *err)
{
    struct error why;
    unsigned file = 0;
    char *path = file_path(dir, name, 0), *next;
    int rc;

    while ((next = path ? file_path(dir, name, ++file) : NULL) &&
           access(next, F_OK) == 0) {
        free(path);
        path = next;
    }
    if (!next) {
        free(path);
        return error_no_memory(err);
    }
    free(next);
    rc = fs_sync_file(path, &why);
    free(path);
    if (rc == 0 || why.code == RAYTRAIN_ENOTFOUND)
        return 0;
    return error_set(err, why.code, "%s", why.text);
}

/* ---- Read ---- */

struct journal_reader {
    char *dir, *name;
    unsigned file;
    uint64_t offset; /* after the last line that was delivered */
    char *buf;
    size_t room;
};

int journal_reader_open(const char *dir, const char *name, struct journal_reader **out,
                        struct error *err)
{
    struct journal_reader *r = calloc(1, sizeof *r);

    if (!r)
        return error_no_memory(err);
    r->room = WINDOW;
    r->dir = strdup(dir);
    r->name = strdup(name);
    r->buf = malloc(r->room);
    if (!r->dir || !r->name || !r->buf) {
        journal_reader_close(r);
        return error_no_memory(err);
    }
    *out = r;
    return 0;
}

void journal_reader_close(struct journal_reader *r)
{
    if (!r)
        return;
    free(r->dir);
    free(r->name);
    free(r->buf);
    free(r);
}

/* Read the bytes from the reader's position on; 0: there is no such file, or no more of
 * it. */
static ssize_t window_read(struct journal_reader *r, struct error *err)
{
    char *path = file_path(r->dir, r->name, r->file);
    int fd = path ? record_open(path, RECORD_OF_ATTEMPT) : -1;
    ssize_t n = -1;

    if (!path)
        return error_no_memory(err);
    if (fd >= 0)
        do
            n = pread(fd, r->buf, r->room, (off_t)r->offset);
        while (n < 0 && errno == EINTR);
    else if (errno == ENOENT)
        n = 0;
    if (n < 0)
        fs_error(err, "read", path);
    if (fd >= 0)
        close(fd);
    free(path);
    return n;
}

/* Deliver the complete lines of n bytes. *more: the next window may have others. */
static void window_deliver(struct journal_reader *r, size_t n,
                           void (*on_line)(void *arg, const char *line, size_t n),
                           void *arg, bool *more)
{
    size_t used = 0;
    char *end;

    *more = n == r->room;
    while ((end = memchr(r->buf + used, '\n', n - used))) {
        char *line = r->buf + used;
        size_t length = (size_t)(end - line);

        if (memchr(line, '\0', length))
            break;
        used += length + 1;
        *end = '\0';
        if (strcmp(line, "+") == 0) {
            r->file++;
            r->offset = 0;
            *more = true;
            return;
        }
        on_line(arg, line, length);
    }
    if (n > used && memchr(r->buf + used, '\0', n - used))
        *more = false;
    r->offset += used;
}

/* A line longer than the window. */
static int window_grow(struct journal_reader *r, struct error *err)
{
    char *bigger;

    if (r->room >= RECORD_BYTES_MAX)
        return record_fail_line(r->name, err);
    bigger = realloc(r->buf, 2 * r->room);
    if (!bigger)
        return error_no_memory(err);
    r->buf = bigger;
    r->room *= 2;
    return 0;
}

int journal_poll(struct journal_reader *r,
                 void (*on_line)(void *arg, const char *line, size_t n), void *arg,
                 struct error *err)
{
    bool more = true;

    while (more) {
        unsigned file = r->file;
        uint64_t offset = r->offset;
        ssize_t n = window_read(r, err);

        if (n <= 0)
            return (int)n;
        window_deliver(r, (size_t)n, on_line, arg, &more);
        if (more && file == r->file && offset == r->offset && window_grow(r, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- The last line ---- */

/* Where the zeros begin. */
static uint64_t zeros_find(int fd, uint64_t size)
{
    uint64_t low = 0, high = size;
    char c;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (fs_pread_full(fd, &c, 1, middle) < 0 || c == '\0')
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The last line in text[0..n) that is not CONTINUED; `whole`: text begins with a line.
 * NULL: none. */
static const char *line_last(const char *text, size_t n, bool whole, size_t *length)
{
    const char *end = memrchr(text, '\n', n), *start;

    while (end) {
        start = memrchr(text, '\n', (size_t)(end - text));
        if (!start && !whole)
            return NULL;
        *length = (size_t)(end - (start ? start + 1 : text));
        if (*length + 1 != strlen(CONTINUED) ||
            memcmp(start ? start + 1 : text, CONTINUED, *length) != 0)
            return start ? start + 1 : text;
        end = start;
    }
    return NULL;
}

static int fd_last_line(int fd, const char *path, char **line, struct error *err)
{
    struct stat st;
    uint64_t end;

    if (fstat(fd, &st) < 0)
        return fs_error(err, "read", path);
    end = zeros_find(fd, (uint64_t)st.st_size);
    for (uint64_t window = WINDOW;; window *= 2) {
        size_t n = (size_t)(window < end ? window : end), length;
        char *text = malloc(n + 1);
        const char *found;

        if (!text)
            return error_no_memory(err);
        if (fs_pread_full(fd, text, n, end - n) < 0) {
            free(text);
            return fs_error(err, "read", path);
        }
        found = line_last(text, n, n == end, &length);
        *line = found ? strndup(found, length) : NULL;
        free(text);
        if (found && !*line)
            return error_no_memory(err);
        if (found || n == end)
            return 0;
    }
}

int journal_last_line(const char *dir, const char *name, char **line, struct error *err)
{
    unsigned file = 0;
    int rc = 0, fd;
    char *path;

    *line = NULL;
    while ((path = file_path(dir, name, file)) && access(path, F_OK) == 0) {
        free(path);
        file++;
    }
    free(path);
    while (rc == 0 && !*line && file-- > 0) {
        path = file_path(dir, name, file);
        fd = path ? record_open(path, RECORD_OF_ATTEMPT) : -1;
        if (!path)
            rc = error_no_memory(err);
        else if (fd >= 0)
            rc = fd_last_line(fd, path, line, err);
        else if (errno != ENOENT)
            rc = fs_error(err, "open", path);
        if (fd >= 0)
            close(fd);
        free(path);
    }
    return rc;
}

/* ---- Write ---- */

struct journal {
    char *dir, *name;
    char *path; /* of the current file */
    unsigned file;
    uint64_t bytes;  /* its size */
    uint64_t offset; /* where the next line goes */
    uint64_t dirty;  /* up to here a failed write may have left bytes */
};

static void line_skip(void *arg, const char *line, size_t n)
{
    (void)arg;
    (void)line;
    (void)n;
}

/* Seek to the end of the last line. */
static int end_find(struct journal *j, struct error *err)
{
    struct journal_reader *r;
    struct stat st;
    int rc;

    if (journal_reader_open(j->dir, j->name, &r, err) < 0)
        return -1;
    rc = journal_poll(r, line_skip, NULL, err);
    j->file = r->file;
    j->offset = r->offset;
    journal_reader_close(r);
    j->path = file_path(j->dir, j->name, j->file);
    if (rc < 0)
        return -1;
    if (!j->path)
        return error_no_memory(err);
    if (stat(j->path, &st) < 0)
        return fs_error(err, "open", j->path);
    j->bytes = (uint64_t)st.st_size;
    return 0;
}

int journal_open(const char *dir, const char *name, struct journal **out,
                 struct error *err)
{
    struct journal *j = calloc(1, sizeof *j);

    if (!j || !(j->dir = strdup(dir)) || !(j->name = strdup(name))) {
        journal_close(j);
        return error_no_memory(err);
    }
    if (journal_create(dir, name, err) < 0 || end_find(j, err) < 0) {
        journal_close(j);
        return -1;
    }
    *out = j;
    return 0;
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    free(j->dir);
    free(j->name);
    free(j->path);
    free(j);
}

static int bytes_write(struct journal *j, const char *text, size_t n, bool sync,
                       struct error *err)
{
    int fd = open(j->path, FS_WRITE), rc, why;

    if (fd < 0)
        return fs_error(err, "open", j->path);
    rc = fs_pwrite_full(fd, text, n, j->offset);
    if (rc == 0 && sync)
        rc = fsync(fd);
    why = errno;
    if (close(fd) < 0 && rc == 0) {
        rc = -1;
        why = errno;
    }
    errno = why;
    return rc < 0 ? fs_error(err, "write", j->path) : 0;
}

/* Continue in a new file. */
static int file_next(struct journal *j, size_t n, struct error *err)
{
    uint64_t bytes = file_bytes(j->file + 1, n);
    char *next = file_path(j->dir, j->name, j->file + 1);

    if (!next)
        return error_no_memory(err);
    if (journal_file_create(next, bytes, err) < 0 ||
        bytes_write(j, CONTINUED, strlen(CONTINUED), true, err) < 0) {
        free(next);
        return -1;
    }
    free(j->path);
    j->path = next;
    j->file++;
    j->bytes = bytes;
    j->offset = j->dirty = 0;
    return 0;
}

int journal_append(struct journal *j, const char *line, size_t n, struct error *err)
{
    size_t length = n + 1;
    char *text;
    int rc;

    if (j->offset + length + strlen(CONTINUED) > j->bytes &&
        file_next(j, length, err) < 0)
        return -1;
    /* Zero what a failed write has left. */
    if (j->dirty > j->offset + length)
        length = (size_t)(j->dirty - j->offset);
    text = calloc(1, length);
    if (!text)
        return error_no_memory(err);
    memcpy(text, line, n);
    text[n] = '\n';
    rc = bytes_write(j, text, length, false, err);
    free(text);
    if (rc < 0) {
        if (j->dirty < j->offset + length)
            j->dirty = j->offset + length;
        return -1;
    }
    j->offset += n + 1;
    j->dirty = 0;
    return 0;
}

const char *journal_path(const struct journal *j)
{
    return j->path;
}
