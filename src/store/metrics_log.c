/*
 * metrics_log.c - result.json: append a line, follow the lines, load those that count.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/metrics.h"
#include "util/fault.h"
#include "util/fs.h"

/* ---- Append -----------------------------------------------------------------------
 */

struct metrics_log {
    int fd;
    bool torn; /* the file does not end with a newline */
    char *path;
};

/* Does a file begin or go on with half a line? */
static int tail_is_torn(int fd, bool *torn)
{
    struct stat st;
    char last = '\n';

    if (fstat(fd, &st) < 0)
        return -1;
    if (st.st_size > 0 && fs_pread_full(fd, &last, 1, (uint64_t)st.st_size - 1) < 0)
        return -1;
    *torn = last != '\n';
    return 0;
}

int metrics_log_open(const char *path, struct metrics_log **out, struct error *err)
{
    struct metrics_log *log = calloc(1, sizeof *log);

    if (!log || !(log->path = strdup(path))) {
        free(log);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    log->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (log->fd < 0 || tail_is_torn(log->fd, &log->torn) < 0) {
        fs_error(err, "open", path);
        metrics_log_close(log);
        return -1;
    }
    *out = log;
    return 0;
}

/* "\n" where needed, the object, "\n"; NULL without memory. */
static char *line_render(const json_t *report, bool torn, size_t *n)
{
    size_t room = json_dumpb(report, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(17));
    char *line = room ? malloc(room + 2) : NULL;
    size_t at = 0;

    if (!line)
        return NULL;
    if (torn)
        line[at++] = '\n';
    at += json_dumpb(report, line + at, room, JSON_COMPACT | JSON_REAL_PRECISION(17));
    line[at++] = '\n';
    *n = at;
    return line;
}

int metrics_log_append(struct metrics_log *log, const json_t *report, struct error *err)
{
    struct stat before;
    size_t n;
    char *line = line_render(report, log->torn, &n);
    int rc;

    if (!line)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = fault_point("report.line", 0);
    if (rc == 0)
        rc = fstat(log->fd, &before);
    if (rc == 0 && (rc = fs_write_full(log->fd, line, n)) < 0) {
        int why = errno;

        /* Half a line is taken back, or ended by the next one. */
        log->torn = ftruncate(log->fd, before.st_size) < 0 || log->torn;
        errno = why;
    } else if (rc == 0) {
        log->torn = false;
        fault_point("report.written", 0);
    }
    free(line);
    return rc < 0 ? fs_error(err, "write", log->path) : 0;
}

int metrics_log_sync(struct metrics_log *log, struct error *err)
{
    return fsync(log->fd) < 0 ? fs_error(err, "write", log->path) : 0;
}

void metrics_log_close(struct metrics_log *log)
{
    if (!log)
        return;
    if (log->fd >= 0)
        close(log->fd);
    free(log->path);
    free(log);
}

/* ---- Follow -----------------------------------------------------------------------
 */

#define TAIL_ROOM 65536

struct metrics_tail {
    char *path;
    int fd;          /* -1: not there yet */
    uint64_t offset; /* behind the last complete line that was told */
    char *buf;
    size_t room;
};

/* 1: open, 0: not there yet. */
static int tail_try_open(struct metrics_tail *tail, struct error *err)
{
    if (tail->fd >= 0)
        return 1;
    tail->fd = open(tail->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (tail->fd >= 0)
        return 1;
    return errno == ENOENT ? 0 : fs_error(err, "open", tail->path);
}

int metrics_tail_open(const char *path, bool at_end, struct metrics_tail **out,
                      struct error *err)
{
    struct metrics_tail *tail = calloc(1, sizeof *tail);
    struct stat st;

    if (!tail)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    tail->fd = -1;
    tail->room = TAIL_ROOM;
    tail->path = strdup(path);
    tail->buf = malloc(tail->room);
    if (!tail->path || !tail->buf) {
        metrics_tail_close(tail);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    if (tail_try_open(tail, err) < 0) {
        metrics_tail_close(tail);
        return -1;
    }
    if (at_end && tail->fd >= 0 && fstat(tail->fd, &st) == 0)
        tail->offset = (uint64_t)st.st_size;
    *out = tail;
    return 0;
}

/* Tell every complete line of buf[0..n); returns the bytes that they take. */
static size_t lines_tell(const char *buf, size_t n,
                         void (*on_report)(void *arg, const json_t *report), void *arg)
{
    size_t used = 0;
    const char *end;

    while ((end = memchr(buf + used, '\n', n - used))) {
        size_t length = (size_t)(end - buf) - used;
        json_t *report = length ? json_loadb(buf + used, length, 0, NULL) : NULL;

        if (json_is_object(report))
            on_report(arg, report);
        json_decref(report);
        used += length + 1;
    }
    return used;
}

int metrics_tail_poll(struct metrics_tail *tail,
                      void (*on_report)(void *arg, const json_t *report), void *arg,
                      struct error *err)
{
    int rc = tail_try_open(tail, err);

    if (rc <= 0)
        return rc;
    for (;;) {
        ssize_t n = pread(tail->fd, tail->buf, tail->room, (off_t)tail->offset);
        size_t used;
        char *bigger;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fs_error(err, "read", tail->path);
        used = lines_tell(tail->buf, (size_t)n, on_report, arg);
        tail->offset += used;
        if ((size_t)n < tail->room)
            return 0;
        if (used > 0)
            continue;
        /* A line longer than the buffer. */
        bigger = realloc(tail->buf, 2 * tail->room);
        if (!bigger)
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        tail->buf = bigger;
        tail->room *= 2;
    }
}

void metrics_tail_close(struct metrics_tail *tail)
{
    if (!tail)
        return;
    if (tail->fd >= 0)
        close(tail->fd);
    free(tail->buf);
    free(tail->path);
    free(tail);
}

/* ---- Load -------------------------------------------------------------------------
 */

struct kept {
    json_t *reports;
    bool no_memory;
};

static json_int_t iteration_of(const json_t *report)
{
    return json_integer_value(json_object_get(report, "training_iteration"));
}

/* The log is in order of time. A report of iteration k takes back those of k and later
 * ones: an attempt that started from an older checkpoint went back there. */
static void report_keep(void *arg, const json_t *report)
{
    struct kept *kept = arg;
    size_t n = json_array_size(kept->reports);

    if (!json_is_integer(json_object_get(report, "training_iteration")))
        return;
    while (n > 0 &&
           iteration_of(json_array_get(kept->reports, n - 1)) >= iteration_of(report))
        json_array_remove(kept->reports, --n);
    /* Deep: the line's own object goes when the caller returns. */
    if (json_array_append_new(kept->reports, json_deep_copy(report)) < 0)
        kept->no_memory = true;
}

int metrics_load(const char *path, json_t **reports, struct error *err)
{
    struct kept kept = {.reports = json_array()};
    struct metrics_tail *tail = NULL;
    int rc = metrics_tail_open(path, false, &tail, err);

    if (rc == 0)
        rc = metrics_tail_poll(tail, report_keep, &kept, err);
    if (rc == 0 && (!kept.reports || kept.no_memory))
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    metrics_tail_close(tail);
    if (rc == 0)
        *reports = kept.reports;
    else
        json_decref(kept.reports);
    return rc;
}
