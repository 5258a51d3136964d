/*
 * metrics.c - the log of reports: a report as a line; read the lines of result.json and
 * of journals; find the reports that count; collect the journals into result.json.
 */
#include "config.h"

#include "run/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/journal.h"
#include "run/report_scan.h"
#include "run/run_dir.h"
#include "util/fault.h"
#include "util/fs.h"

#define WINDOW 65536

typedef void line_fn(void *arg, const char *line, size_t n);

static int no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

/* ---- A report and its line ---- */

/* A report as one line, without its newline; malloc'ed, NULL without memory. */
static char *report_render(const json_t *report)
{
    return json_dumps(report, JSON_COMPACT | JSON_REAL_PRECISION(17));
}

/* Parse a line of a journal; NULL: it is not a report. *if_missing as in
 * metrics_report(). */
static json_t *report_parse(const char *line, size_t n, bool *if_missing)
{
    json_t *report = n ? json_loadb(line, n, 0, NULL) : NULL;

    if (!json_is_object(report)) {
        json_decref(report);
        return NULL;
    }
    *if_missing = json_object_del(report, METRICS_IF_MISSING) == 0;
    return report;
}

static int line_append(struct journal *journal, const json_t *report, struct error *err)
{
    char *line = report_render(report);
    int rc = line ? journal_append(journal, line, strlen(line), err) : no_memory(err);

    free(line);
    return rc;
}

int metrics_report(struct journal *journal, const json_t *report, bool if_missing,
                   struct error *err)
{
    json_t *marked;
    int rc;

    if (!if_missing) {
        if (fault_point("report.line", 0) < 0)
            return fs_error(err, "write", journal_path(journal));
        rc = line_append(journal, report, err);
        if (rc == 0)
            fault_point("report.written", 0);
        return rc;
    }
    marked = json_copy((json_t *)(uintptr_t)report);
    if (!marked || json_object_set_new(marked, METRICS_IF_MISSING, json_true()) < 0)
        rc = no_memory(err);
    else
        rc = line_append(journal, marked, err);
    json_decref(marked);
    return rc;
}

/* ---- Lines ---- */

/* Deliver the complete lines of buf[0..n); returns the number of bytes in them. */
static size_t lines_deliver(char *buf, size_t n, line_fn *on_line, void *arg)
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

static int fd_lines(int fd, const char *path, line_fn *on_line, void *arg,
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
        bigger = realloc(buf, 2 * room);
        if (!bigger)
            free(buf);
        buf = bigger;
        room *= 2;
    }
    if (!buf)
        return no_memory(err);
    free(buf);
    return 0;
}

/* Deliver each complete line of a file that does not change meanwhile, or only grows. A
 * missing file has none. */
static int file_lines(const char *path, line_fn *on_line, void *arg, struct error *err)
{
    int fd = fs_open_fresh(path), rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : fs_error(err, "open", path);
    rc = fd_lines(fd, path, on_line, arg, err);
    close(fd);
    return rc;
}

/* ---- Outstanding ---- */

static int journal_lines(const char *run_dir, int attempt, line_fn *on_line, void *arg,
                         struct error *err)
{
    char *log_dir = run_dir_log_dir(run_dir, attempt);
    struct journal_reader *r;
    int rc;

    if (!log_dir)
        return no_memory(err);
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
    line_fn *on_line;
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
    if (!strstr(line, "\"" METRICS_IF_MISSING "\""))
        return false;
    report = report_parse(line, n, &marked);
    text = report ? report_render(report) : NULL;
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
    json_t *report = report_parse(line, strlen(line), &marked);
    int attempt = (int)json_integer_value(json_object_get(report, "attempt"));

    json_decref(report);
    return attempt > 0 ? attempt : 0;
}

/* Deliver each line of the journals that result.json lacks; `last` is its last line
 * ("": it has none). */
static int outstanding_lines(const char *run_dir, const char *last, line_fn *on_line,
                             void *arg, struct error *err)
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

/* ---- Read ---- */

static json_int_t iteration_of(const json_t *report)
{
    return json_integer_value(json_object_get(report, "training_iteration"));
}

/* Add a report to those that count. It replaces those of its iteration and later ones,
 * since its attempt went back to an older checkpoint. -1 without memory. */
static int reports_keep(json_t *reports, const json_t *report)
{
    size_t n = json_array_size(reports);

    if (!json_is_integer(json_object_get(report, "training_iteration")))
        return 0;
    while (n > 0 &&
           iteration_of(json_array_get(reports, n - 1)) >= iteration_of(report))
        json_array_remove(reports, --n);
    return json_array_append(reports, (json_t *)(uintptr_t)report);
}

static bool reports_have(const json_t *reports, const json_t *report)
{
    for (size_t i = json_array_size(reports); i-- > 0;)
        if (iteration_of(json_array_get(reports, i)) == iteration_of(report))
            return true;
    return false;
}

/* One pass over all reports. */
struct reading {
    char *last; /* last line of result.json */
    size_t room;
    void (*on_report)(void *arg, const json_t *report, bool if_missing);
    line_fn *on_line; /* in its place */
    void *arg;
    bool no_memory;
};

static void line_remember(struct reading *reading, const char *line, size_t n)
{
    if (n + 1 > reading->room) {
        char *bigger = realloc(reading->last, 2 * n + 1);

        if (!bigger) {
            reading->no_memory = true;
            return;
        }
        reading->last = bigger;
        reading->room = 2 * n + 1;
    }
    memcpy(reading->last, line, n + 1);
}

static void line_deliver(void *arg, const char *line, size_t n)
{
    struct reading *reading = arg;
    bool if_missing;
    json_t *report;

    if (reading->on_line) {
        reading->on_line(reading->arg, line, n);
        return;
    }
    report = report_parse(line, n, &if_missing);
    if (report)
        reading->on_report(reading->arg, report, if_missing);
    json_decref(report);
}

static void collected_deliver(void *arg, const char *line, size_t n)
{
    if (n > 0)
        line_remember(arg, line, n);
    line_deliver(arg, line, n);
}

static int reports_read(const char *run_dir, struct reading *reading, struct error *err)
{
    char *path = run_dir_file(run_dir, "result.json");
    int rc;

    if (!path)
        return no_memory(err);
    rc = file_lines(path, collected_deliver, reading, err);
    free(path);
    if (rc == 0 && !reading->no_memory)
        rc = outstanding_lines(run_dir, reading->last ? reading->last : "",
                               line_deliver, reading, err);
    free(reading->last);
    return rc == 0 && reading->no_memory ? no_memory(err) : rc;
}

struct each {
    void (*on_report)(void *arg, const json_t *report);
    void *arg;
};

static void report_deliver(void *arg, const json_t *report, bool if_missing)
{
    struct each *each = arg;

    if (!if_missing)
        each->on_report(each->arg, report);
}

int metrics_each(const char *run_dir,
                 void (*on_report)(void *arg, const json_t *report), void *arg,
                 struct error *err)
{
    struct each each = {on_report, arg};
    struct reading reading = {.on_report = report_deliver, .arg = &each};

    return reports_read(run_dir, &reading, err);
}

struct numbers {
    const char *keys[METRICS_SCANNED + 1]; /* the last one is METRICS_IF_MISSING */
    size_t n;
    void (*on_report)(void *arg, const double *numbers);
    void *arg;
};

static void line_scan(void *arg, const char *line, size_t n)
{
    struct numbers *wanted = arg;
    double values[METRICS_SCANNED + 1];

    if (report_scan(line, n, wanted->keys, wanted->n + 1, values) &&
        isnan(values[wanted->n]))
        wanted->on_report(wanted->arg, values);
}

int metrics_each_numbers(const char *run_dir, const char *const keys[], size_t n_keys,
                         void (*on_report)(void *arg, const double *numbers), void *arg,
                         struct error *err)
{
    struct numbers wanted = {.n = n_keys, .on_report = on_report, .arg = arg};
    struct reading reading = {.on_line = line_scan, .arg = &wanted};

    memcpy(wanted.keys, keys, n_keys * sizeof *keys);
    wanted.keys[n_keys] = METRICS_IF_MISSING;
    return reports_read(run_dir, &reading, err);
}

struct kept {
    json_t *reports;
    bool no_memory;
};

static void report_keep(void *arg, const json_t *report, bool if_missing)
{
    struct kept *kept = arg;

    if (if_missing && reports_have(kept->reports, report))
        return;
    if (reports_keep(kept->reports, report) < 0)
        kept->no_memory = true;
}

int metrics_load(const char *run_dir, json_t **reports, struct error *err)
{
    struct kept kept = {.reports = json_array()};
    struct reading reading = {.on_report = report_keep, .arg = &kept};
    int rc = kept.reports ? reports_read(run_dir, &reading, err) : no_memory(err);

    if (rc == 0 && kept.no_memory)
        rc = no_memory(err);
    if (rc == 0)
        *reports = kept.reports;
    else
        json_decref(kept.reports);
    return rc;
}

struct filled {
    struct metrics_table *table;
    bool no_memory;
};

static void report_add(void *arg, const json_t *report, bool if_missing)
{
    struct filled *filled = arg;

    if (metrics_table_add(filled->table, report, if_missing) < 0)
        filled->no_memory = true;
}

int metrics_load_table(const char *run_dir, struct metrics_table *table,
                       struct error *err)
{
    struct filled filled = {.table = table};
    struct reading reading = {.on_report = report_add, .arg = &filled};
    int rc = reports_read(run_dir, &reading, err);

    return rc == 0 && filled.no_memory ? no_memory(err) : rc;
}

/* ---- Collect ---- */

/*
 * From the journals of the attempts into result.json. A report is in a journal first,
 * and stays there until result.json is durable: if a launcher dies at any moment, the
 * next one continues from the journal, after the last line of result.json.
 */

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
    void (*on_report)(void *arg, const json_t *report);
    void *arg;
};

/* ---- Collect: new lines ---- */

static void line_add(void *arg, const char *line, size_t n)
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
        return no_memory(err);
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
    json_int_t iteration;
    bool there;
};

/* A report supersedes those of its iteration and later ones. */
static void presence_follow(void *arg, const char *line, size_t n)
{
    struct presence *p = arg;
    bool if_missing;
    json_t *report = report_parse(line, n, &if_missing);

    if (json_is_integer(json_object_get(report, "training_iteration")) &&
        iteration_of(report) <= p->iteration)
        p->there = iteration_of(report) == p->iteration;
    json_decref(report);
}

/* Does a report of this iteration count already? */
static bool is_there(struct metrics_collector *c, const json_t *report)
{
    struct presence p = {.iteration = iteration_of(report)};

    return pending_write(c, NULL) < 0 ||
           file_lines(c->path, presence_follow, &p, NULL) < 0 || p.there;
}

static void line_take(void *arg, const char *line, size_t n)
{
    struct metrics_collector *c = arg;
    bool if_missing;
    json_t *report = report_parse(line, n, &if_missing);
    char *text;

    if (!report)
        return;
    if (!if_missing) {
        line_add(c, line, n);
    } else if (!is_there(c, report)) {
        text = report_render(report);
        if (text)
            line_add(c, text, strlen(text));
        c->no_memory = c->no_memory || !text;
        free(text);
    } else {
        json_decref(report);
        return;
    }
    c->iteration = iteration_of(report);
    if (c->on_report)
        c->on_report(c->arg, report);
    json_decref(report);
}

/* ---- Collect: result.json anew ---- */

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
    if (file_lines(c->path, line_copy, copy, err) < 0)
        return -1;
    if (copy->no_memory)
        return no_memory(err);
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
        return no_memory(err);
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
    bool marked;
    json_t *report = c->last ? report_parse(c->last, strlen(c->last), &marked) : NULL;

    c->iteration = report ? iteration_of(report) : -1;
    json_decref(report);
}

int metrics_collector_open(const char *run_dir, struct metrics_collector **out,
                           struct error *err)
{
    struct metrics_collector *c = calloc(1, sizeof *c);

    if (!c)
        return no_memory(err);
    c->fd = -1;
    c->run_dir = strdup(run_dir);
    c->path = run_dir_file(run_dir, "result.json");
    if (!c->run_dir || !c->path) {
        metrics_collector_close(c);
        return no_memory(err);
    }
    fs_remove_temps(c->path);
    if (file_renew(c, err) == 0) {
        iteration_find(c);
        if (outstanding_lines(run_dir, c->last ? c->last : "", line_take, c, err) ==
                0 &&
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
                           void (*on_report)(void *arg, const json_t *report),
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
