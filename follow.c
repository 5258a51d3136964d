/*
 * follow.c - print what a run reports, from any node that sees its directory, until it
 * ends.
 *
 * The launcher does not know about this: files are looked at again and again, since
 * network storage has no notifications. Reports are read from the journal
 * (metrics_follow.h), attempts from their records, which are replaced as a whole, and
 * notes from events.json; that one grows, so that another node may see them late.
 */
#include "config.h"

#include "inspect/output.h"
#include "inspect/run_summary.h"
#include "inspect/views.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/metrics.h"
#include "run/metrics_follow.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"

#define LOOK_MS      250  /* between two looks */
#define LOOK_IDLE_MS 2000 /* if nothing happens */
#define SILENCE_S                                                                      \
    20.0 /* a lock that is not touched for so long is that of a dead node */
#define EARLIER     10 /* reports that are shown of those before the start */
#define EVENTS_FILE "events.json"

struct follow {
    FILE *out;
    const char *run;
    bool json;
    struct metrics_follower *reports;
    json_t *earlier[EARLIER]; /* a ring; only during the first look */
    size_t n_earlier;
    bool begun;
    int attempt;         /* the newest; -1: none */
    bool started, ended; /* of it: printed */
    uint64_t events_at;  /* of it: read so far */
    bool moved;          /* this look has printed something */
    char lock[RUN_LOCK_CONTENT_MAX];
    double lock_s; /* when it changed */
};

/* ---- Lines ---- */

static void object_print(struct follow *f, const char *kind, const json_t *object)
{
    json_t *line = json_pack("{s:s, s:O}", "kind", kind, kind, object);

    if (line)
        json_dumpf(line, f->out, JSON_COMPACT | JSON_REAL_PRECISION(17));
    fputc('\n', f->out);
    json_decref(line);
    f->moved = true;
}

static void value_print(FILE *out, const json_t *value)
{
    char *text;

    if (json_is_real(value)) {
        fprintf(out, "%.5g", json_real_value(value));
        return;
    }
    if (json_is_string(value)) {
        output_text(out, json_string_value(value));
        return;
    }
    text = value && !json_is_null(value)
               ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY)
               : NULL;
    output_text(out, text ? text : "nan");
    free(text);
}

/* "iteration 3  loss 0.31  accuracy 0.881  12.1 s", as raytrain-run prints it. */
static void report_print(struct follow *f, const json_t *report)
{
    json_t *ignored;
    const char *name;

    if (f->json) {
        object_print(f, "report", report);
        return;
    }
    fprintf(f->out, "iteration %lld",
            (long long)integer_of(report, "training_iteration"));
    json_object_foreach(json_object_get(report, "by_rank"), name, ignored)
    {
        fputs("  ", f->out);
        output_text(f->out, name);
        fputc(' ', f->out);
        value_print(f->out, json_object_get(report, name));
    }
    fprintf(f->out, "  %.1f s",
            json_number_value(json_object_get(report, "time_total_s")));
    if (json_is_string(json_object_get(report, "checkpoint")))
        fputs("  checkpoint", f->out);
    fputc('\n', f->out);
    f->moved = true;
}

static void attempt_print(struct follow *f, const json_t *attempt, bool end)
{
    size_t nodes = json_array_size(json_object_get(attempt, "nodes"));

    if (f->json) {
        object_print(f, "attempt", attempt);
        return;
    }
    f->moved = true;
    fprintf(f->out, "attempt %lld: ", (long long)integer_of(attempt, "attempt"));
    if (end) {
        output_text(f->out, string_of(attempt, "outcome"));
        if (*string_of(attempt, "message")) {
            fputs(": ", f->out);
            output_text(f->out, string_of(attempt, "message"));
        }
    } else {
        fprintf(f->out, "%lld workers on %zu node%s",
                (long long)integer_of(attempt, "workers"), nodes,
                nodes == 1 ? "" : "s");
        if (*string_of(attempt, "checkpoint")) {
            fputs(", from ", f->out);
            output_text(f->out, string_of(attempt, "checkpoint"));
        }
    }
    fputc('\n', f->out);
}

static void event_print(struct follow *f, const json_t *event)
{
    if (f->json) {
        object_print(f, "event", event);
    } else if (*string_of(event, "text")) {
        output_text(f->out, string_of(event, "text"));
        fputc('\n', f->out);
        f->moved = true;
    }
}

/* ---- Reports ---- */

/* Of the reports before the start, only the last few are of interest. */
static void on_report(void *arg, const json_t *report)
{
    struct follow *f = arg;
    json_t **slot = &f->earlier[f->n_earlier % EARLIER];

    if (f->begun || f->json) {
        report_print(f, report);
        return;
    }
    json_decref(*slot);
    *slot = json_incref((json_t *)(uintptr_t)report);
    f->n_earlier++;
}

static void earlier_print(struct follow *f)
{
    size_t n = f->n_earlier < EARLIER ? f->n_earlier : EARLIER;

    if (f->n_earlier > n)
        fprintf(f->out, "(%zu earlier reports)\n", f->n_earlier - n);
    for (size_t i = f->n_earlier - n; i < f->n_earlier; i++) {
        report_print(f, f->earlier[i % EARLIER]);
        json_decref(f->earlier[i % EARLIER]);
    }
    memset(f->earlier, 0, sizeof f->earlier);
    f->n_earlier = 0;
}

static int reports_follow(struct follow *f, bool all, struct error *err)
{
    int rc = metrics_follower_poll(f->reports, all, on_report, f, err);

    earlier_print(f);
    return rc;
}

/* ---- Attempts and events ---- */

static char *log_file(const struct follow *f, int attempt, const char *name)
{
    char *dir = run_dir_log_dir(f->run, attempt);
    char *path = dir ? run_dir_file(dir, name) : NULL;

    free(dir);
    return path;
}

/* Print the lines of events.json that are new, and whole. */
static void events_follow(struct follow *f)
{
    char *path = log_file(f, f->attempt, EVENTS_FILE), *text = NULL, *line, *end;
    size_t n = 0;

    if (!path || fs_read(path, &text, &n, NULL) < 0 || n <= f->events_at) {
        free(text);
        free(path);
        return;
    }
    for (line = text + f->events_at; (end = strchr(line, '\n')); line = end + 1) {
        json_t *event = json_loadb(line, (size_t)(end - line), 0, NULL);

        if (event)
            event_print(f, event);
        json_decref(event);
    }
    f->events_at = (uint64_t)(line - text);
    free(text);
    free(path);
}

static json_t *record_read(const struct follow *f, int attempt)
{
    char *path = log_file(f, attempt, "attempt.json"), *text = NULL;
    json_t *record = NULL;

    if (path && fs_read(path, &text, NULL, NULL) == 0)
        record = json_loads(text, 0, NULL);
    free(text);
    free(path);
    return record;
}

static void start_follow(struct follow *f)
{
    json_t *record = f->started ? NULL : record_read(f, f->attempt);

    if (record) {
        attempt_print(f, record, false);
        f->started = true;
    }
    json_decref(record);
    events_follow(f);
}

static void end_follow(struct follow *f)
{
    json_t *record = f->ended || f->attempt < 0 ? NULL : record_read(f, f->attempt);

    if (*string_of(record, "outcome")) {
        attempt_print(f, record, true);
        f->ended = true;
    }
    json_decref(record);
}

/* One look at everything. A new attempt begins after all reports of the one before. */
static int run_look(struct follow *f, bool all, struct error *err)
{
    int newest = run_dir_last_attempt(f->run);

    f->moved = false;
    if (f->attempt >= 0 && newest != f->attempt) {
        if (reports_follow(f, true, err) < 0)
            return -1;
        events_follow(f);
        end_follow(f);
    }
    if (newest >= 0 && newest != f->attempt) {
        f->attempt = newest;
        f->started = f->ended = false;
        f->events_at = 0;
    }
    if (f->attempt >= 0)
        start_follow(f);
    if (reports_follow(f, all, err) < 0)
        return -1;
    f->begun = true;
    end_follow(f);
    return fflush(f->out) == 0 && !ferror(f->out)
               ? 0
               : error_set(err, RAYTRAIN_ESTORAGE, "cannot write to standard output");
}

/* ---- The end ---- */

/* A lock that this node does not see is watched. */
static bool is_over(struct follow *f)
{
    char lock[RUN_LOCK_CONTENT_MAX];

    switch (run_lock_look(f->run, lock)) {
    case RUN_LOCK_FREE:
        return true;
    case RUN_LOCK_HELD:
        return false;
    default:
        break;
    }
    if (f->lock_s == 0 || strcmp(lock, f->lock) != 0) {
        memcpy(f->lock, lock, sizeof lock);
        f->lock_s = clock_now();
    }
    return clock_now() - f->lock_s > SILENCE_S;
}

static const struct {
    const char *status;
    int exit_status;
} ends[] = {{"finished", 0}, {"stopped", 75}, {"failed", 1}, {"interrupted", 1}};

static int end_print(struct follow *f, int *exit_status, struct error *err)
{
    json_t *out = json_object();
    const char *status;

    run_status_set(out, f->run, true);
    status = string_of(out, "status");
    *exit_status = 5;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(status, ends[i].status) == 0)
            *exit_status = ends[i].exit_status;
    if (f->json)
        object_print(f, "end", out);
    else
        fprintf(f->out, "%s\n", status);
    if (*exit_status == 5)
        error_set(err, RAYTRAIN_ECORRUPT, "%s", string_of(out, "result_error"));
    json_decref(out);
    return *exit_status == 5 ? -1 : 0;
}

/* ---- A run that does not exist yet ---- */

/* Is this not a run, but may become one: missing, or with a lock alone? */
static bool is_awaited(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? errno == ENOENT : run_has_file(path, ".lock");
}

static int run_await(const char *path, struct error *err)
{
    char *parent = strdup(path), *slash, quoted[QUOTE_TEXT_MAX];
    bool has_parent;

    if (inspect_is_run(path)) {
        free(parent);
        return 0;
    }
    for (size_t n = parent ? strlen(parent) : 0; n > 1 && parent[n - 1] == '/';)
        parent[--n] = '\0';
    slash = parent ? strrchr(parent, '/') : NULL;
    if (slash)
        slash[slash == parent] = '\0';
    has_parent = access(slash ? parent : ".", X_OK) == 0;
    free(parent);
    if (!is_awaited(path))
        return error_set(err, RAYTRAIN_EINVAL,
                         "--follow needs a run directory, and %s is none",
                         quote(path, quoted));
    if (!has_parent)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "there is no run %s, and no directory in which it could be "
                         "created; check the path",
                         quote(path, quoted));
    fprintf(stderr, "raytrain-inspect: waiting for the run %s to begin\n",
            quote(path, quoted));
    while (!inspect_is_run(path)) {
        poll(NULL, 0, LOOK_MS);
        fs_look_again(path);
    }
    return 0;
}

int inspect_follow(FILE *out, const char *run, bool json, int *exit_status,
                   struct error *err)
{
    struct follow f = {.out = out, .run = run, .json = json, .attempt = -1};
    int rc = run_await(run, err), wait_ms = LOOK_MS;
    bool over = false;

    if (rc == 0)
        rc = metrics_follower_open(run, &f.reports, err);
    while (rc == 0 && !over) {
        if (f.begun)
            poll(NULL, 0, wait_ms);
        over = is_over(&f);
        rc = run_look(&f, over, err);
        wait_ms = f.moved ? LOOK_MS : wait_ms * 3 / 2;
        wait_ms = wait_ms < LOOK_IDLE_MS ? wait_ms : LOOK_IDLE_MS;
    }
    if (rc == 0)
        rc = end_print(&f, exit_status, err);
    metrics_follower_close(f.reports);
    return rc;
}
