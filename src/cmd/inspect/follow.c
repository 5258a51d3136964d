/*
 * follow.c - print what happens to a run until it ends: reports, attempts and their
 * events, on any node. It polls the run's files at a limited rate, and writes nothing.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "inspect/follow.h"
#include "inspect/time_text.h"
#include "inspect/output.h"
#include "inspect/run_list.h"
#include "inspect/views.h"
#include "plot/paper.h"
#include "protocol/events.h"
#include "run/metrics.h"
#include "run/report_follow.h"
#include "util/report_number.h"
#include "run/run_dir.h"
#include "run/run_lock.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

#define WAIT_LOOK_S 1.0 /* between two looks, for a run that does not exist yet */
#define LAST        10  /* reports that are printed at first */

struct follower {
    FILE *out;
    const char *run;
    bool json;
    struct paper paper;
    struct report_follower *reports;
    bool begun;      /* an attempt has been announced */
    int attempt;     /* the last one announced; -1: none */
    bool ended;      /* and its end, too */
    uint64_t offset; /* offset in its events */
};

/* ---- Lines ---- */

static void text_put(struct follower *f, const char *text)
{
    char *shown = paper_text(&f->paper, text, 100000);

    fputs(shown ? shown : "?", f->out);
    free(shown);
}

/* A message may have several lines, such as a traceback. */
static void lines_put(struct follower *f, const char *text)
{
    char *rest = strdup(text), *at = rest;

    for (char *line; (line = strsep(&at, "\n"));) {
        fputs(line > rest ? "  " : "", f->out);
        text_put(f, line);
        fputc('\n', f->out);
    }
    free(rest);
}

/* A line "PREFIX TEXT", or an object {"kind", "attempt", "text"}. */
static void message_print(struct follower *f, const char *kind, const char *text)
{
    json_t *object;

    if (!f->json) {
        if (f->attempt >= 0 && strcmp(kind, "run") != 0)
            fprintf(f->out, "attempt %d: ", f->attempt);
        lines_put(f, text);
        return;
    }
    object = json_pack("{s:s, s:o}", "kind", kind, "text", json_text(text));
    if (f->attempt >= 0)
        json_object_set_new(object, "attempt", json_integer(f->attempt));
    json_dumpf(object, f->out, JSON_COMPACT);
    fputc('\n', f->out);
    json_decref(object);
}

static void say_format(struct follower *f, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void say_format(struct follower *f, const char *kind, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    message_print(f, kind, text);
}

/* ---- Attempts ---- */

/* A file of an attempt, malloc'ed. */
static char *attempt_file(const struct follower *f, const char *name)
{
    char *log_dir = run_dir_log_dir(f->run, f->attempt);
    char *path = log_dir ? run_dir_file(log_dir, name) : NULL;

    free(log_dir);
    return path;
}

static json_t *attempt_load(const struct follower *f)
{
    char *path = attempt_file(f, "attempt.json"), *text = NULL;
    json_t *attempt = NULL;
    size_t n;

    if (path && record_read(path, RECORD_OF_ATTEMPT, &text, &n, NULL) == 0)
        attempt = json_loadb(text, n, 0, NULL);
    free(text);
    free(path);
    return attempt;
}

static void event_print(void *arg, const char *line, size_t n)
{
    struct follower *f = arg;
    json_t *event = json_loadb(line, n, 0, NULL);
    const char *kind = string_of(event, "kind"), *text = string_of(event, "text");

    if (*text && strcmp(kind, EVENT_PROGRESS) != 0)
        message_print(f, "event", text);
    json_decref(event);
}

static void events_print(struct follower *f)
{
    char *path = f->attempt >= 0 ? attempt_file(f, EVENTS_FILE) : NULL;

    if (path)
        (void)line_follow(path, RECORD_OF_ATTEMPT, &f->offset, event_print, f, NULL);
    free(path);
}

/* Print how the attempt ended, if its record says so. */
static void end_print(struct follower *f)
{
    json_t *attempt = f->attempt >= 0 && !f->ended ? attempt_load(f) : NULL;
    const char *outcome = string_of(attempt, "outcome"),
               *message = string_of(attempt, "message");

    if (*outcome) {
        events_print(f);
        if (json_is_integer(json_object_get(attempt, "rank")) &&
            integer_of(attempt, "rank") >= 0 && *message)
            say_format(f, "end", "%s: rank %lld on %s: %s", outcome,
                       (long long)integer_of(attempt, "rank"),
                       string_of(attempt, "host"), message);
        else
            say_format(f, "end", "%s%s%s", outcome, *message ? ": " : "", message);
        f->ended = true;
    }
    json_decref(attempt);
}

static void start_print(struct follower *f)
{
    json_t *attempt = attempt_load(f);
    size_t nodes = json_array_size(json_object_get(attempt, "nodes"));
    long long workers = (long long)integer_of(attempt, "workers");

    if (attempt)
        say_format(f, "start", "%lld worker%s on %zu node%s, launcher %s", workers,
                   workers == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
                   string_of(attempt, "launcher"));
    json_decref(attempt);
}

/* Announce attempts up to this one; at first, only this one. */
static void attempts_advance(struct follower *f, int attempt)
{
    if (!f->begun && attempt >= 0) {
        f->begun = f->ended = true;
        f->attempt = attempt - 1;
    }
    while (f->attempt < attempt) {
        end_print(f);
        f->attempt++;
        f->ended = false;
        f->offset = 0;
        start_print(f);
    }
}

/* ---- Reports ---- */

/* Attempts without a directory are skipped: another program may have written the
 * report. */
static int attempt_of(const struct follower *f, const json_t *report)
{
    json_int_t attempt = integer_of(report, "attempt");
    int newest = attempt > f->attempt ? run_dir_last_attempt(f->run) : f->attempt;

    return attempt < newest ? (int)attempt : newest;
}

static void report_print(void *arg, const json_t *report)
{
    struct follower *f = arg;
    char text[TIME_TEXT_MAX];
    const char *name;
    json_t *ignored;

    attempts_advance(f, attempt_of(f, report));
    if (f->json) {
        fputs("{\"kind\":\"report\",\"report\":", f->out);
        json_dumpf(report, f->out, JSON_COMPACT | JSON_REAL_PRECISION(17));
        fputs("}\n", f->out);
        return;
    }
    fprintf(f->out, "iteration %lld",
            (long long)integer_of(report, "training_iteration"));
    json_object_foreach(json_object_get(report, "by_rank"), name, ignored)
    {
        double value = metric_number(report, name);

        if (isnan(value))
            continue;
        fputs("  ", f->out);
        text_put(f, name);
        fprintf(f->out, " %.5g", value);
    }
    fprintf(f->out, "  %s%s\n",
            time_text(json_number_value(json_object_get(report, "time_total_s")), text),
            json_is_string(json_object_get(report, "checkpoint")) ? "  checkpoint"
                                                                  : "");
}

/* ---- The life of the run ---- */

void follow_pause(double seconds)
{
    poll(NULL, 0, (int)(seconds * 1e3));
}

bool follow_is_alive(const char *run, struct pulse *p)
{
    struct run_lock_sight sight;

    run_lock_look(run, &sight);
    if (strcmp(sight.text, p->text) != 0) {
        memcpy(p->text, sight.text, sizeof p->text);
        p->changed_s = clock_now();
    }
    return sight.state == RUN_LOCK_HELD ||
           (sight.state == RUN_LOCK_ELSEWHERE &&
            clock_now() - p->changed_s < sight.patience_s);
}

static int everything_print(struct follower *f, struct error *err)
{
    int newest = run_dir_last_attempt(f->run), rc;

    events_print(f);
    rc = report_follow_poll(f->reports, report_print, f, err);
    attempts_advance(f, newest);
    events_print(f);
    end_print(f);
    fflush(f->out);
    return rc;
}

int follow_status(const char *result)
{
    return strcmp(result, "finished") == 0  ? 0
           : strcmp(result, "stopped") == 0 ? 75
                                            : 1;
}

char *follow_result(const char *run)
{
    char *path = run_dir_file(run, "result.h5"), *status = NULL;

    if (path)
        (void)metrics_peek_status(path, &status, NULL);
    free(path);
    return status;
}

static int run_watch(struct follower *f, int *status, struct error *err)
{
    double held_s = clock_now();
    struct pulse pulse = {.changed_s = clock_now()};

    for (;;) {
        bool alive = follow_is_alive(f->run, &pulse);
        char *result = alive ? NULL : follow_result(f->run);

        if (everything_print(f, err) < 0) {
            free(result);
            return -1;
        }
        if (result) {
            *status = follow_status(result);
            f->attempt = -1;
            say_format(f, "run", "the run has %s%s",
                       strcmp(result, "stopped") == 0 ? "been " : "", result);
            free(result);
            return 0;
        }
        if (alive)
            held_s = clock_now();
        if (clock_now() - held_s > FOLLOW_GRACE_S) {
            *status = 1;
            f->attempt = -1;
            message_print(
                f, "run",
                "nothing holds the run any more, and it has no result: its launcher "
                "was "
                "killed");
            return 0;
        }
        if (ferror(f->out))
            return error_set(err, RAYTRAIN_ESTORAGE, "cannot write to standard output");
        follow_pause(FOLLOW_LOOK_S);
    }
}

/* Refuse a file or a directory of runs, which never becomes a run. */
static int follow_place_check(const char *path, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct run_list list = {0};
    struct stat st;
    int rc;

    if (stat(path, &st) < 0)
        return errno == ENOENT ? 0 : fs_error(err, "open", path);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--follow: %s is a file; name the directory of a run",
                         quote(path, quoted));
    if (inspect_is_run(path))
        return 0;
    rc = run_list_find(path, &list, err);
    if (rc == 0 && list.n > 0)
        rc = error_set(err, RAYTRAIN_EUSAGE,
                       "--follow: %s is a directory of runs; name one of them",
                       quote(path, quoted));
    run_list_clear(&list);
    return rc;
}

static void run_await(struct follower *f)
{
    bool said = false;

    while (!inspect_is_run(f->run)) {
        if (!said)
            say_format(f, "run", "waiting for %s, which is not a run yet", f->run);
        said = true;
        fflush(f->out);
        follow_pause(WAIT_LOOK_S);
    }
}

int inspect_follow(FILE *out, const char *run, bool as_json, int *status,
                   struct error *err)
{
    struct follower f = {
        .out = out, .run = run, .json = as_json, .attempt = -1, .paper = paper_of(out)};
    int rc;

    if (follow_place_check(run, err) < 0)
        return -1;
    run_await(&f);
    rc = report_follow_open(run, LAST, &f.reports, err);
    if (rc == 0)
        rc = run_watch(&f, status, err);
    report_follow_close(f.reports);
    return rc;
}
