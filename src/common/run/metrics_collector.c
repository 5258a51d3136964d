/*
 * metrics_collector.c - copy reports from the journals of the attempts into
 * result.json.
 *
 * A report is first in a journal, and stays there until result.json is durable: if a
 * launcher dies at any moment, the next one continues from the journal, after the last
 * line of result.json.
 */
#include "config.h"

#include "run/metrics_collector.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/journal.h"
#include "run/metrics.h"
#include "run/metrics_lines.h"
#include "run/run_dir.h"
#include "util/fs.h"

struct metrics_collector {
    char *run_dir, *path;
    int fd;        /* result.json, as FS_CREATE */
    uint64_t size; /* whole lines */
    char *pending; /* lines that are not in it yet */
    size_t n, room;
    char *last; /* line of result.json when it was opened or renewed; NULL: none */
    int64_t iteration; /* of the last report; -1: none */
    bool no_memory;
    struct journal_reader *reader;
    void (*on_report)(void *arg, struct logged_report *report);
    void *arg;
};

/* ---- New lines ---- */

static void new_line_add(void *arg, const char *line, size_t n)
{
    struct metrics_collector *c = arg;

    if (c->n + n + 1 > c->room) {
        size_t room = 2 * (c->n + n + 1);
        char *bigger = realloc(c->pending, room);

        if (!bigger) {
            c->no_memory = true;
            return;
        }
        c->pending = bigger;
        c->room = room;
    }
    memcpy(c->pending + c->n, line, n);
    c->pending[c->n + n] = '\n';
    c->n += n + 1;
}

/* Network storage sends the data when any descriptor of the file, even a copy, is
 * closed. */
static int pending_write(struct metrics_collector *c, struct error *err)
{
    int copy;

    if (c->no_memory) {
        c->no_memory = false;
        return error_no_memory(err);
    }
    if (c->n == 0)
        return 0;
    if (fs_pwrite_full(c->fd, c->pending, c->n, c->size) < 0) {
        fs_error(err, "write", c->path);
        (void)!ftruncate(c->fd, (off_t)c->size); /* leave no half line */
        return -1;
    }
    copy = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0 && close(copy) < 0)
        return fs_error(err, "write", c->path);
    c->size += c->n;
    c->n = 0;
    return 0;
}

/* Is a report of this iteration among those that count? */
struct presence {
    int64_t iteration;
    bool there;
};

/* A report supersedes those of its iteration and later ones. */
static void presence_follow(void *arg, const char *line, size_t n)
{
    struct presence *p = arg;
    struct logged_report report;

    if (logged_report_init(&report, line, n) && report.iteration <= p->iteration)
        p->there = report.iteration == p->iteration;
}

static bool report_is_written(struct metrics_collector *c,
                              const struct logged_report *report)
{
    struct presence p = {.iteration = report->iteration};

    return pending_write(c, NULL) < 0 ||
           metrics_lines_of_file(c->path, presence_follow, &p, NULL) < 0 || p.there;
}

/* Without its marks. */
static void marked_add(struct metrics_collector *c, struct logged_report *report)
{
    const json_t *json = logged_report_json(report);
    char *line = json ? metrics_line_render(json) : NULL;

    if (line)
        new_line_add(c, line, strlen(line));
    else
        c->no_memory = true;
    free(line);
}

static void line_take(void *arg, const char *line, size_t n)
{
    struct metrics_collector *c = arg;
    struct logged_report report;

    if (!logged_report_init(&report, line, n) ||
        (report.if_missing && report_is_written(c, &report)))
        return;
    if (report.if_missing || report.has_workers)
        marked_add(c, &report);
    else
        new_line_add(c, line, n);
    c->iteration = report.iteration;
    if (c->on_report)
        c->on_report(c->arg, &report);
    logged_report_clear(&report);
}

/* ---- A new result.json ---- */

struct copy {
    FILE *out;
    uint64_t size;
    char *last;
    bool no_memory;
};

static void line_copy(void *arg, const char *line, size_t n)
{
    struct copy *copy = arg;
    char *last = n > 0 ? strndup(line, n) : NULL;

    fwrite(line, 1, n, copy->out);
    putc('\n', copy->out);
    copy->size += n + 1;
    if (n == 0)
        return;
    copy->no_memory = copy->no_memory || !last;
    free(copy->last);
    copy->last = last;
}

/* Copy the whole lines of c->path to `temp`, and rename that to c->path. */
static int lines_move(struct metrics_collector *c, const char *temp, struct copy *copy,
                      struct error *err)
{
    if (metrics_lines_of_file(c->path, line_copy, copy, err) < 0)
        return -1;
    if (copy->no_memory)
        return error_no_memory(err);
    if (fflush(copy->out) != 0 || (copy->size > 0 && fsync(fileno(copy->out)) < 0) ||
        rename(temp, c->path) < 0)
        return fs_error(err, "write", c->path);
    return copy->size > 0 ? fs_sync_parent(c->path, err) : 0;
}

/* Make result.json a new durable file, which no other process has open, with its whole
 * lines. */
static int file_renew(struct metrics_collector *c, struct error *err)
{
    char *temp = fs_temp_name(c->path);
    struct copy copy = {0};
    int fd, rc;

    if (!temp)
        return error_no_memory(err);
    copy.out = fopen(temp, "w+xe");
    rc = copy.out ? lines_move(c, temp, &copy, err) : fs_error(err, "create", c->path);
    fd = copy.out ? fcntl(fileno(copy.out), F_DUPFD_CLOEXEC, 0) : -1;
    if (rc == 0 && fd < 0)
        rc = fs_error(err, "open", c->path);
    if (copy.out)
        fclose(copy.out);
    if (rc < 0) {
        unlink(temp);
        if (fd >= 0)
            close(fd);
        free(copy.last);
        free(temp);
        return -1;
    }
    if (c->fd >= 0)
        close(c->fd);
    free(c->last);
    c->fd = fd;
    c->size = copy.size;
    c->last = copy.last;
    free(temp);
    return 0;
}

/* ---- The collector ---- */

/* Of the last line. */
static void iteration_find(struct metrics_collector *c)
{
    struct logged_report last;

    c->iteration = -1;
    if (c->last && logged_report_init(&last, c->last, strlen(c->last)))
        c->iteration = last.iteration;
}

int metrics_collector_open(const char *run_dir, struct metrics_collector **out,
                           struct error *err)
{
    struct metrics_collector *c = calloc(1, sizeof *c);

    if (!c)
        return error_no_memory(err);
    c->fd = -1;
    c->run_dir = strdup(run_dir);
    c->path = run_dir_file(run_dir, "result.json");
    if (!c->run_dir || !c->path) {
        metrics_collector_close(c);
        return error_no_memory(err);
    }
    fs_remove_temps(c->path);
    if (file_renew(c, err) == 0) {
        iteration_find(c);
        if (metrics_lines_outstanding(run_dir, c->last ? c->last : "", line_take, c,
                                      err) == 0 &&
            pending_write(c, err) == 0) {
            *out = c;
            return 0;
        }
    }
    metrics_collector_close(c);
    return -1;
}

int metrics_collector_follow(struct metrics_collector *c, const char *log_dir,
                             struct error *err)
{
    journal_reader_close(c->reader);
    c->reader = NULL;
    return journal_reader_open(log_dir, METRICS_JOURNAL, &c->reader, err);
}

int metrics_collector_poll(struct metrics_collector *c,
                           void (*on_report)(void *arg, struct logged_report *report),
                           void *arg, struct error *err)
{
    int rc = 0;

    c->on_report = on_report;
    c->arg = arg;
    if (c->reader)
        rc = journal_poll(c->reader, line_take, c, err);
    c->on_report = NULL;
    return pending_write(c, rc == 0 ? err : NULL) < 0 ? -1 : rc;
}

int64_t metrics_collector_iteration(const struct metrics_collector *c)
{
    return c->iteration;
}

int metrics_collector_settle(struct metrics_collector *c, struct error *err)
{
    int newest = run_dir_last_attempt(c->run_dir);

    if (pending_write(c, err) < 0 || file_renew(c, err) < 0)
        return -1;
    for (int k = 0; k <= newest; k++) {
        char *log_dir = run_dir_log_dir(c->run_dir, k);

        if (log_dir)
            journal_remove(log_dir, METRICS_JOURNAL);
        free(log_dir);
    }
    return 0;
}

void metrics_collector_close(struct metrics_collector *c)
{
    if (!c)
        return;
    journal_reader_close(c->reader);
    if (c->fd >= 0)
        close(c->fd);
    free(c->run_dir);
    free(c->path);
    free(c->pending);
    free(c->last);
    free(c);
}
