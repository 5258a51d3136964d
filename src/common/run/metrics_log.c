/*
 * metrics_log.c - reports: hand one in, read all, find those that count.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/journal.h"
#include "run/metrics_impl.h"
#include "run/run_dir.h"
#include "util/fault.h"
#include "util/fs.h"

#define IF_MISSING "?" /* no metric has that name */
#define WINDOW     65536

static int no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

/* ---- A report and its line --------------------------------------------------------
 */

char *metrics_render(const json_t *report)
{
    return json_dumps(report, JSON_COMPACT | JSON_REAL_PRECISION(17));
}

json_t *metrics_parse(const char *line, size_t n, bool *if_missing)
{
    json_t *report = n ? json_loadb(line, n, 0, NULL) : NULL;

    if (!json_is_object(report)) {
        json_decref(report);
        return NULL;
    }
    *if_missing = json_object_del(report, IF_MISSING) == 0;
    return report;
}

static int line_append(struct journal *journal, const json_t *report, struct error *err)
{
    char *line = metrics_render(report);
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
    if (!marked || json_object_set_new(marked, IF_MISSING, json_true()) < 0)
        rc = no_memory(err);
    else
        rc = line_append(journal, marked, err);
    json_decref(marked);
    return rc;
}

/* ---- Lines ------------------------------------------------------------------------
 */

/* The complete lines of buf[0..n); returns the bytes that they take. */
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

int metrics_lines(const char *path, metrics_line_fn *on_line, void *arg,
                  struct error *err)
{
    int fd = fs_open_fresh(path), rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : fs_error(err, "open", path);
    rc = fd_lines(fd, path, on_line, arg, err);
    close(fd);
    return rc;
}

/* ---- Outstanding ------------------------------------------------------------------
 */

static int journal_lines(const char *run_dir, int attempt, metrics_line_fn *on_line,
                         void *arg, struct error *err)
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
    metrics_line_fn *on_line;
    void *arg;
};

/* Is this the line in result.json? There it has lost its mark, if it had one. */
static bool is_line(const char *line, size_t n, const char *wanted)
{
    json_t *report;
    bool marked, same;
    char *text;

    if (strcmp(line, wanted) == 0)
        return true;
    if (!strstr(line, "\"" IF_MISSING "\""))
        return false;
    report = metrics_parse(line, n, &marked);
    text = report ? metrics_render(report) : NULL;
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
    json_t *report = metrics_parse(line, strlen(line), &marked);
    int attempt = (int)json_integer_value(json_object_get(report, "attempt"));

    json_decref(report);
    return attempt > 0 ? attempt : 0;
}

int metrics_outstanding(const char *run_dir, const char *last, metrics_line_fn *on_line,
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

/* ---- Read -------------------------------------------------------------------------
 */

static json_int_t iteration_of(const json_t *report)
{
    return json_integer_value(json_object_get(report, "training_iteration"));
}

int metrics_keep(json_t *reports, const json_t *report)
{
    size_t n = json_array_size(reports);

    if (!json_is_integer(json_object_get(report, "training_iteration")))
        return 0;
    while (n > 0 &&
           iteration_of(json_array_get(reports, n - 1)) >= iteration_of(report))
        json_array_remove(reports, --n);
    return json_array_append(reports, (json_t *)(uintptr_t)report);
}

bool metrics_has(const json_t *reports, const json_t *report)
{
    for (size_t i = json_array_size(reports); i-- > 0;)
        if (iteration_of(json_array_get(reports, i)) == iteration_of(report))
            return true;
    return false;
}

/* One pass over all reports. */
struct reading {
    char *last; /* line of result.json */
    size_t room;
    void (*on_report)(void *arg, const json_t *report, bool if_missing);
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

static void line_tell(void *arg, const char *line, size_t n)
{
    struct reading *reading = arg;
    bool if_missing;
    json_t *report = metrics_parse(line, n, &if_missing);

    if (report)
        reading->on_report(reading->arg, report, if_missing);
    json_decref(report);
}

static void collected_tell(void *arg, const char *line, size_t n)
{
    if (n > 0)
        line_remember(arg, line, n);
    line_tell(arg, line, n);
}

static int reports_read(const char *run_dir, struct reading *reading, struct error *err)
{
    char *path = run_dir_file(run_dir, "result.json");
    int rc;

    if (!path)
        return no_memory(err);
    rc = metrics_lines(path, collected_tell, reading, err);
    free(path);
    if (rc == 0 && !reading->no_memory)
        rc = metrics_outstanding(run_dir, reading->last ? reading->last : "", line_tell,
                                 reading, err);
    free(reading->last);
    return rc == 0 && reading->no_memory ? no_memory(err) : rc;
}

struct each {
    void (*on_report)(void *arg, const json_t *report);
    void *arg;
};

static void report_tell(void *arg, const json_t *report, bool if_missing)
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
    struct reading reading = {.on_report = report_tell, .arg = &each};

    return reports_read(run_dir, &reading, err);
}

struct kept {
    json_t *reports;
    bool no_memory;
};

static void report_keep(void *arg, const json_t *report, bool if_missing)
{
    struct kept *kept = arg;

    if (if_missing && metrics_has(kept->reports, report))
        return;
    if (metrics_keep(kept->reports, report) < 0)
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
