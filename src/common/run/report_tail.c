/*
 * report_tail.c - read the end of result.json and of the journals, for the report with
 * the highest number.
 */
#include "config.h"

#include "run/report_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/journal.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/fs.h"
#include "util/run_record.h"

#define TAIL 65536 /* bytes that are read first */

/* ---- Lines ---- */

/* A report, or NULL. A mark of a journal is not part of it. */
static json_t *report_of(const char *line, size_t n)
{
    json_t *report = n ? json_loadb(line, n, 0, NULL) : NULL;

    if (json_is_integer(json_object_get(report, "training_iteration"))) {
        json_object_del(report, METRICS_IF_MISSING);
        return report;
    }
    json_decref(report);
    return NULL;
}

/* The report in the last complete line that has one, of text[0..n). `whole`: text
 * begins with a line. */
static json_t *last_of(const char *text, size_t n, bool whole)
{
    while (n > 0) {
        const char *end = memrchr(text, '\n', n), *before;
        json_t *report;

        if (!end)
            return NULL;
        n = (size_t)(end - text);
        before = memrchr(text, '\n', n);
        if (!before && !whole)
            return NULL;
        before = before ? before + 1 : text;
        report = report_of(before, (size_t)(end - before));
        if (report)
            return report;
    }
    return NULL;
}

/* The end of a file, more of it until a report is found. */
static int fd_tail(int fd, const char *path, json_t **report, struct error *err)
{
    struct stat st;
    char *text;

    if (fstat(fd, &st) < 0)
        return fs_error(err, "read", path);
    for (off_t n = TAIL; !*report; n *= 8) {
        off_t size = n < st.st_size ? n : st.st_size;

        if (size == 0)
            return 0;
        if (size > (off_t)RECORD_BYTES_MAX)
            return record_fail_line(path, err);
        if (!(text = malloc((size_t)size)))
            return error_no_memory(err);
        if (fs_pread_full(fd, text, (size_t)size, (uint64_t)(st.st_size - size)) < 0) {
            free(text);
            return fs_error(err, "read", path);
        }
        *report = last_of(text, (size_t)size, size == st.st_size);
        free(text);
        if (size == st.st_size)
            break;
    }
    return 0;
}

/* ---- Journals ---- */

static int64_t report_integer(const json_t *report, const char *key)
{
    return json_integer_value(json_object_get(report, key));
}

/* Replace *report by the last one in the journal of an attempt, if that is later. */
static int journal_look(const char *run_dir, int attempt, json_t **report,
                        struct error *err)
{
    char *log_dir = run_dir_log_dir(run_dir, attempt), *line = NULL;
    json_t *later;
    int rc = log_dir ? journal_last_line(log_dir, METRICS_JOURNAL, &line, err)
                     : error_no_memory(err);

    free(log_dir);
    later = line ? report_of(line, strlen(line)) : NULL;
    free(line);
    if (later &&
        (!*report ||
         report_integer(later, "attempt") > report_integer(*report, "attempt") ||
         report_integer(later, "training_iteration") >
             report_integer(*report, "training_iteration"))) {
        json_decref(*report);
        *report = later;
        return rc;
    }
    json_decref(later);
    return rc;
}

int report_tail(const char *run_dir, json_t **report, struct error *err)
{
    char *path = run_dir_file(run_dir, "result.json");
    int fd, rc = 0, first, newest = run_dir_last_attempt(run_dir);
    int64_t known;

    *report = NULL;
    if (!path)
        return error_no_memory(err);
    fd = record_open(path, RECORD_OF_RUN);
    if (fd >= 0) {
        rc = fd_tail(fd, path, report, err);
        close(fd);
    } else if (errno != ENOENT) {
        rc = fs_error(err, "open", path);
    }
    free(path);
    known = report_integer(*report, "attempt");
    first = known > 0 && known <= newest ? (int)known : 0;
    for (int k = first; rc == 0 && k <= newest; k++)
        rc = journal_look(run_dir, k, report, err);
    if (rc < 0) {
        json_decref(*report);
        *report = NULL;
    }
    return rc;
}
