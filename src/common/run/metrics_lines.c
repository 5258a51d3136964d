/*
 * metrics_lines.c - render and parse lines of reports, and find the lines that
 * result.json lacks.
 */
#include "config.h"

#include "run/metrics_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/journal.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/run_record.h"

#define WINDOW 65536

/* ---- A report and its line ---- */

char *metrics_line_render(const json_t *report)
{
    return json_dumps(report, JSON_COMPACT | JSON_REAL_PRECISION(17));
}

json_t *metrics_line_parse(const char *line, size_t n, bool *if_missing,
                           json_t **workers)
{
    json_t *report = n ? json_loadb(line, n, 0, NULL) : NULL;

    if (!json_is_object(report)) {
        json_decref(report);
        return NULL;
    }
    *if_missing = json_object_del(report, METRICS_IF_MISSING) == 0;
    if (workers)
        *workers = json_incref(json_object_get(report, METRICS_WORKERS));
    json_object_del(report, METRICS_WORKERS);
    return report;
}

bool metrics_line_has_workers(const char *line)
{
    static const char begin[] = "{\"" METRICS_WORKERS "\":";

    return strncmp(line, begin, sizeof begin - 1) == 0;
}

/* ---- Those of a file ---- */

/* Deliver the complete lines of buf[0..n); returns the number of bytes in them. */
static size_t lines_deliver(char *buf, size_t n, metrics_line_fn *on_line, void *arg)
{
    size_t used = 0;
    char *end;

    while ((end = memchr(buf + used, '\n', n - used))) {
        size_t length = (size_t)(end - buf) - used;

        *end = '\0';
        on_line(arg, buf + used, length);
        used += length + 1;
    }
    return used;
}

static int fd_lines(int fd, const char *path, metrics_line_fn *on_line, void *arg,
                    struct error *err)
{
    size_t room = WINDOW, held = 0;
    char *buf = malloc(room), *bigger;
    ssize_t n = 1;

    while (buf && n > 0) {
        size_t used;

        n = read(fd, buf + held, room - held);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        if (n < 0) {
            free(buf);
            return fs_error(err, "read", path);
        }
        held += (size_t)n;
        used = lines_deliver(buf, held, on_line, arg);
        memmove(buf, buf + used, held - used);
        held -= used;
        if (held < room)
            continue;
        /* A line longer than the buffer. */
        if (room >= RECORD_BYTES_MAX) {
            free(buf);
            return record_fail_line(path, err);
        }
        bigger = realloc(buf, 2 * room);
        if (!bigger)
            free(buf);
        buf = bigger;
        room *= 2;
    }
    if (!buf)
        return error_no_memory(err);
    free(buf);
    return 0;
}

int metrics_lines_of_file(const char *path, metrics_line_fn *on_line, void *arg,
                          struct error *err)
{
    int fd = record_open(path, RECORD_OF_RUN), rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : fs_error(err, "open", path);
    rc = fd_lines(fd, path, on_line, arg, err);
    close(fd);
    return rc;
}

/* ---- Those that result.json lacks ---- */

static int journal_lines(const char *run_dir, int attempt, metrics_line_fn *on_line,
                         void *arg, struct error *err)
{
    char *log_dir = run_dir_log_dir(run_dir, attempt);
    struct journal_reader *r;
    int rc;

    if (!log_dir)
        return error_no_memory(err);
    rc = journal_reader_open(log_dir, METRICS_JOURNAL, &r, err);
    free(log_dir);
    if (rc < 0)
        return -1;
    rc = journal_poll(r, on_line, arg, err);
    journal_reader_close(r);
    return rc;
}

struct search {
    const char *last;
    size_t n, after; /* lines so far; those up to `last` */
    metrics_line_fn *on_line;
    void *arg;
};

/* Is this the wanted line of result.json? There a line has no mark. */
static bool is_line(const char *line, size_t n, const char *wanted)
{
    json_t *report;
    bool marked, same;
    char *text;

    if (strcmp(line, wanted) == 0)
        return true;
    if (!strstr(line, "\"" METRICS_IF_MISSING "\"") && !metrics_line_has_workers(line))
        return false;
    report = metrics_line_parse(line, n, &marked, NULL);
    text = report ? metrics_line_render(report) : NULL;
    same = text && strcmp(text, wanted) == 0;
    free(text);
    json_decref(report);
    return same;
}

static void last_find(void *arg, const char *line, size_t n)
{
    struct search *s = arg;

    s->n++;
    if (is_line(line, n, s->last))
        s->after = s->n;
}

static void rest_deliver(void *arg, const char *line, size_t n)
{
    struct search *s = arg;

    if (++s->n > s->after)
        s->on_line(s->arg, line, n);
}

/* The attempt of a report, or 0. */
static int attempt_of(const char *line)
{
    bool marked;
    json_t *report = metrics_line_parse(line, strlen(line), &marked, NULL);
    int attempt = (int)json_integer_value(json_object_get(report, "attempt"));

    json_decref(report);
    return attempt > 0 ? attempt : 0;
}

int metrics_lines_outstanding(const char *run_dir, const char *last,
                              metrics_line_fn *on_line, void *arg, struct error *err)
{
    struct search s = {.last = last, .on_line = on_line, .arg = arg};
    int first = attempt_of(last), newest = run_dir_last_attempt(run_dir), rc = 0;

    for (int k = first; rc == 0 && k <= newest; k++)
        rc = journal_lines(run_dir, k, last_find, &s, err);
    s.n = 0;
    for (int k = first; rc == 0 && k <= newest; k++)
        rc = journal_lines(run_dir, k, rest_deliver, &s, err);
    return rc;
}
