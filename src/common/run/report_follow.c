/*
 * report_follow.c - lines of a file that grows; two sources of reports, result.json and
 * the journals of attempts.
 *
 * A report is in a journal first, and later in result.json; the journal is removed at
 * the end. Attempts, and iterations in each of them, only grow, so that what is not
 * later than the last report has been delivered already.
 */
#include "config.h"

#include "run/report_follow.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/journal.h"
#include "run/metrics.h"
#include "run/report_scan.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/run_record.h"

#define WINDOW     65536
#define START_TAIL (16 * WINDOW) /* of result.json, which is read at first */

/* ---- Lines of a file that grows ---- */

/* Deliver the lines from *offset on. `window` grows if a line does not fit. */
static int new_lines_read(int fd, const char *path, uint64_t *offset,
                          void (*on_line)(void *arg, const char *line, size_t n),
                          void *arg, struct error *err)
{
    size_t window = WINDOW;
    char *text = NULL, *bigger;
    ssize_t n;

    for (;;) {
        size_t used = 0;
        char *end;

        if (!(bigger = realloc(text, window))) {
            free(text);
            return error_no_memory(err);
        }
        text = bigger;
        n = pread(fd, text, window, (off_t)*offset);
        if (n <= 0)
            break;
        while ((end = memchr(text + used, '\n', (size_t)n - used))) {
            *end = '\0';
            on_line(arg, text + used, (size_t)(end - text) - used);
            used = (size_t)(end - text) + 1;
        }
        *offset += used;
        if (used == 0 && (size_t)n < window)
            break; /* the line is not complete yet */
        if (used == 0 && window >= RECORD_BYTES_MAX) {
            free(text);
            return record_fail_line(path, err);
        }
        if (used == 0)
            window *= 2;
    }
    free(text);
    return n < 0 ? fs_error(err, "read", path) : 0;
}

int line_follow(const char *path, unsigned depth, uint64_t *offset,
                void (*on_line)(void *arg, const char *line, size_t n), void *arg,
                struct error *err)
{
    int fd = record_open(path, depth), rc = 0;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? 0 : fs_error(err, "open", path);
    if (fstat(fd, &st) < 0)
        rc = fs_error(err, "read", path);
    else if ((uint64_t)st.st_size < *offset)
        *offset = 0;
    if (rc == 0)
        rc = new_lines_read(fd, path, offset, on_line, arg, err);
    close(fd);
    return rc;
}

/* ---- Reports ---- */

struct report_follower {
    char *run_dir, *result;
    uint64_t offset; /* in result.json */
    int attempt;     /* whose journal is read; -1: none yet */
    struct journal_reader *journal;
    double last_attempt, last_iteration; /* of the last report; -1: none */
    /* The first poll keeps the last reports in a ring. */
    bool first;
    char **ring;
    size_t ring_size, ring_n; /* lines so far */
    void (*on_report)(void *arg, const json_t *report);
    void *arg;
    bool no_memory;
};

/* Is it a report that has not been taken before? */
static bool is_news(struct report_follower *f, const char *line, size_t n)
{
    static const char *const keys[] = {"attempt", "training_iteration"};
    double at[2];

    if (n == 0 || !report_scan(line, n, keys, 2, at) || !isfinite(at[1]))
        return false;
    if (!isfinite(at[0]))
        at[0] = 0;
    if (at[0] < f->last_attempt ||
        (at[0] == f->last_attempt && at[1] <= f->last_iteration))
        return false;
    f->last_attempt = at[0];
    f->last_iteration = at[1];
    return true;
}

static void report_line_deliver(struct report_follower *f, const char *line, size_t n)
{
    json_t *report = json_loadb(line, n, 0, NULL);

    if (report) {
        json_object_del(report, METRICS_IF_MISSING);
        f->on_report(f->arg, report);
    }
    json_decref(report);
}

static void report_line_take(void *arg, const char *line, size_t n)
{
    struct report_follower *f = arg;
    char **place;

    if (!is_news(f, line, n))
        return;
    if (!f->first) {
        report_line_deliver(f, line, n);
        return;
    }
    place = &f->ring[f->ring_n++ % f->ring_size];
    free(*place);
    *place = strndup(line, n);
    f->no_memory = f->no_memory || !*place;
}

static void ring_deliver(struct report_follower *f)
{
    size_t from = f->ring_n > f->ring_size ? f->ring_n - f->ring_size : 0;

    f->first = false;
    for (size_t i = from; i < f->ring_n; i++) {
        char **place = &f->ring[i % f->ring_size];

        report_line_deliver(f, *place, strlen(*place));
        free(*place);
        *place = NULL;
    }
}

/* Skip what is before the end of result.json, up to a line's end. A file without one
 * there is read from its beginning. */
static void start_seek(struct report_follower *f)
{
    int fd = record_open(f->result, RECORD_OF_RUN);
    uint64_t at, least;
    struct stat st;
    char c = '\0';

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size > START_TAIL) {
        at = (uint64_t)st.st_size - START_TAIL;
        least = at > START_TAIL ? at - START_TAIL : 0;
        while (at > least && fs_pread_full(fd, &c, 1, at - 1) == 0 && c != '\n')
            at--;
        if (c == '\n')
            f->offset = at;
    }
    close(fd);
}

int report_follow_open(const char *run_dir, size_t n, struct report_follower **out,
                       struct error *err)
{
    struct report_follower *f = calloc(1, sizeof *f);

    if (!f || !(f->run_dir = strdup(run_dir)) ||
        !(f->result = run_dir_file(run_dir, "result.json")) ||
        !(f->ring = calloc(n + 1, sizeof *f->ring))) {
        report_follow_close(f);
        return error_no_memory(err);
    }
    f->attempt = -1;
    f->last_attempt = f->last_iteration = -1;
    f->first = true;
    f->ring_size = n > 0 ? n : 1;
    start_seek(f);
    *out = f;
    return 0;
}

void report_follow_close(struct report_follower *f)
{
    if (!f)
        return;
    for (size_t i = 0; f->ring && i < f->ring_size; i++)
        free(f->ring[i]);
    free(f->ring);
    journal_reader_close(f->journal);
    free(f->run_dir);
    free(f->result);
    free(f);
}

static int journal_follow(struct report_follower *f, int attempt, struct error *err)
{
    char *log_dir;
    int rc;

    if (attempt != f->attempt) {
        journal_reader_close(f->journal);
        f->journal = NULL;
        f->attempt = attempt;
    }
    if (f->attempt < 0)
        return 0;
    if (!f->journal) {
        log_dir = run_dir_log_dir(f->run_dir, attempt);
        rc = log_dir ? journal_reader_open(log_dir, METRICS_JOURNAL, &f->journal, err)
                     : error_no_memory(err);
        free(log_dir);
        if (rc < 0)
            return -1;
    }
    return journal_poll(f->journal, report_line_take, f, err);
}

int report_follow_poll(struct report_follower *f,
                       void (*on_report)(void *arg, const json_t *report), void *arg,
                       struct error *err)
{
    int newest = run_dir_last_attempt(f->run_dir), rc = 0;

    f->on_report = on_report;
    f->arg = arg;
    /* The journal first: it may be removed once result.json has its lines. But at first
     * result.json has the older ones. */
    if (!f->first)
        rc = journal_follow(f, f->attempt, err);
    if (rc == 0)
        rc =
            line_follow(f->result, RECORD_OF_RUN, &f->offset, report_line_take, f, err);
    for (int k = f->attempt < 0 ? 0 : f->attempt; rc == 0 && k <= newest; k++)
        rc = journal_follow(f, k, err);
    if (rc == 0 && !f->no_memory && f->first)
        ring_deliver(f);
    return rc == 0 && f->no_memory ? error_no_memory(err) : rc;
}
