/* run_view.c - one run as an object, from its configuration, attempts, reports and
 * checkpoints; and the text that is printed of it. */
#include "config.h"

#include "inspect/output.h"
#include "inspect/run_summary.h"
#include "inspect/views.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_diff.h"
#include "config/train_config.h"
#include "run/attempt_config.h"
#include "run/attempts.h"
#include "run/checkpoint_manager.h"
#include "run/metrics.h"
#include "util/report_number.h"
#include "run/run_dir.h"
#include "run/run_pulse.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/hostlist.h"
#include "util/quote.h"
#include "util/size.h"

#define CHECKPOINTS_SHOWN 5    /* as text */
/* of an attempt; if there are more, only their number is printed */
#define NODES_SHOWN 1024

/* ---- The object ---- */

static bool run_has_file(const char *run, const char *name)
{
    char *path = run_dir_file(run, name);
    bool has = path && access(path, F_OK) == 0;

    free(path);
    return has;
}

bool inspect_is_run(const char *run)
{
    return run_has_file(run, "run.cfg") || run_has_file(run, "result.json") ||
           run_has_file(run, ".marker") || run_dir_last_attempt(run) >= 0;
}

/* "running" while it is locked, the status in result.h5, else "interrupted". */
static void run_status_set(json_t *out, const char *run)
{
    char *path = run_dir_file(run, "result.h5"), *status = NULL;
    char *paths[] = {(char *)(uintptr_t)run};
    struct run_pulse *pulse = run_pulse_take(paths, 1);
    struct error why;

    if (pulse && pulse->alive) {
        json_object_set_new(out, "status", json_string("running"));
        json_object_set_new(out, "holder", json_text(pulse->sight.holder));
    } else if (path && metrics_read_status(path, &status, &why) < 0) {
        json_object_set_new(out, "status", json_string("unknown"));
        json_object_set_new(out, "result_error", json_text(why.text));
    } else {
        json_object_set_new(out, "status",
                            json_string(status ? status : "interrupted"));
    }
    free(pulse);
    free(status);
    free(path);
}

/* JSON has no infinities: as in a report, the value is null, and a word is beside
 * it. */
static void last_set(json_t *metric, const json_t *report, const char *name)
{
    json_t *value = json_object_get(report, name);
    double number = metric_number(report, name);

    json_object_set(metric, "last", value ? value : json_null());
    json_object_del(metric, "last_infinite");
    if (isinf(number))
        json_object_set_new(
            metric, "last_infinite",
            json_string(number > 0 ? METRIC_INFINITY : "-" METRIC_INFINITY));
}

/* The last, lowest and highest value of each metric, with their iterations. */
static json_t *run_metrics_json(const json_t *reports)
{
    json_t *all = json_object(), *report, *ignored;
    const char *name;
    size_t i;

    json_array_foreach((json_t *)reports, i, report)
    {
        json_t *at = json_object_get(report, "training_iteration");

        json_object_foreach(json_object_get(report, "by_rank"), name, ignored)
        {
            json_t *value = json_object_get(report, name);
            json_t *m = json_object_get(all, name);

            if (!m) {
                m = json_object();
                json_object_set_new(all, name, m);
            }
            last_set(m, report, name);
            if (!json_is_number(value))
                continue;
            if (!json_object_get(m, "min") ||
                json_number_value(value) <
                    json_number_value(json_object_get(m, "min"))) {
                json_object_set(m, "min", value);
                json_object_set(m, "min_iteration", at);
            }
            if (!json_object_get(m, "max") ||
                json_number_value(value) >
                    json_number_value(json_object_get(m, "max"))) {
                json_object_set(m, "max", value);
                json_object_set(m, "max_iteration", at);
            }
        }
    }
    return all;
}

/* What the values are: means, or rank 0's. */
static json_t *kinds_json(const json_t *reports)
{
    json_t *kinds = json_array(), *report;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)reports, i, report)
        run_summary_kinds_add(kinds, integer_of(report, "training_iteration"),
                              integer_of(report, "world_size"),
                              json_object_get(report, METRICS_REPORTED) != NULL);
    return kinds;
}

/* How the configuration of an attempt differs from that of the one before; NULL: it
 * does not, or is not known. */
static json_t *changes_json(const char *before, const char *now)
{
    struct config_changes changes;
    json_t *all = json_object();

    if (!before || !now || config_diff(before, now, &changes, NULL) < 0) {
        json_decref(all);
        return NULL;
    }
    for (size_t i = 0; i < changes.n; i++)
        json_object_set_new(all, changes.list[i].key,
                            json_pack("{s:s?, s:s?}", "before", changes.list[i].before,
                                      "now", changes.list[i].now));
    config_changes_clear(&changes);
    if (json_object_size(all) > 0)
        return all;
    json_decref(all);
    return NULL;
}

static void changes_set(json_t *attempts, const char *run)
{
    char *before = NULL;
    json_t *attempt;
    size_t i;

    json_array_foreach(attempts, i, attempt)
    {
        int k = (int)json_integer_value(json_object_get(attempt, "attempt"));
        char *now = attempt_config_read(run, k);
        json_t *changes = changes_json(before, now);

        if (changes)
            json_object_set_new(attempt, "config_changes", changes);
        if (now) {
            free(before);
            before = now;
        }
    }
    free(before);
}

static json_t *path_json(const char *path)
{
    return path ? json_text(path) : json_null();
}

static int run_checkpoints_set(json_t *out, const char *run, bool verify,
                               struct error *err)
{
    json_t *all = json_array(), *one;
    int64_t *iterations;
    size_t n;

    if (!all || checkpoint_manager_list(run, &iterations, &n, err) < 0) {
        json_decref(all);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        char *path = run_dir_checkpoint(run, (long)iterations[i]);
        struct error why;

        one = path ? inspect_checkpoint(path, false, verify, &why) : NULL;
        json_object_del(one, "kind");
        json_array_append_new(all, one);
        free(path);
    }
    free(iterations);
    json_object_set_new(out, "checkpoints", all);
    return 0;
}

static int best_set(json_t *out, const char *run, struct error *err)
{
    char *best = NULL, *latest = NULL;
    int rc = checkpoint_manager_best_of(run, &best, &latest, err);

    if (rc == 0) {
        json_object_set_new(out, "checkpoint", path_json(latest));
        json_object_set_new(out, "best_checkpoint", path_json(best));
    }
    free(best);
    free(latest);
    return rc;
}

json_t *inspect_run_records(const char *path, bool verify, struct error *err)
{
    char *run = realpath(path, NULL);
    json_t *out = json_object(), *attempts;
    int rc = -1;

    if (!run || !out) {
        fs_error(err, "open", path);
    } else if (!inspect_is_run(run)) {
        error_set(err, RAYTRAIN_EINVAL,
                  "%s: this directory is not a run of raytrain (it has no run.cfg, no "
                  "result.json and no logs)",
                  run);
    } else {
        json_object_set_new(out, "kind", json_string("run"));
        json_object_set_new(out, "path", path_json(run));
        run_status_set(out, run);
        rc = attempts_load(run, json_object_get(out, "holder") != NULL, &attempts, err);
    }
    if (rc == 0) {
        changes_set(attempts, run);
        json_object_set_new(out, "attempts", attempts);
        rc = run_checkpoints_set(out, run, verify, err);
    }
    if (rc == 0)
        rc = best_set(out, run, err);
    free(run);
    if (rc == 0)
        return out;
    json_decref(out);
    return NULL;
}

json_t *inspect_run(const char *path, bool verify, struct error *err)
{
    json_t *out = inspect_run_records(path, verify, err), *reports, *last;

    if (!out)
        return NULL;
    if (metrics_load(string_of(out, "path"), &reports, err) < 0) {
        json_decref(out);
        return NULL;
    }
    last = json_array_get(reports, json_array_size(reports) - 1);
    json_object_set_new(out, "reports",
                        json_integer((json_int_t)json_array_size(reports)));
    json_object_set(out, "last_report", last ? last : json_null());
    json_object_set_new(out, "metrics", run_metrics_json(reports));
    json_object_set_new(out, "metrics_are", kinds_json(reports));
    json_decref(reports);
    return out;
}

/* ---- The text ---- */

static double object_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void number_print(FILE *out, const json_t *value)
{
    double number = metric_value(value);

    if (isnan(number))
        fprintf(out, " %12s", "nan"); /* whatever its sign */
    else
        fprintf(out, " %12.6g", number);
}

/* Why an attempt ended, in a word or two; "" if its outcome says it. */
static const char *cause_text(const json_t *a)
{
    static const char *const causes[][2] = {
        {"oom", " (out of memory)"},   {"hang", " (hang)"},
        {"start", " (start)"},         {"node_lost", " (node lost)"},
        {"gpu", " (GPU error)"},       {"time_limit", " (time limit)"},
        {"preempted", " (preempted)"}, {"resize", " (resize)"},
        {"signal", " (signal)"},       {"callback", " (callback)"},
    };

    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strcmp(string_of(a, "cause"), causes[i][0]) == 0)
            return causes[i][1];
    return "";
}

/* " on 2 nodes (n1 n2)" */
static void nodes_print(FILE *out, const json_t *nodes)
{
    size_t n = json_array_size(nodes);
    const char *names[NODES_SHOWN];
    char *text = NULL;

    if (n == 0)
        return;
    for (size_t i = 0; i < n && i < NODES_SHOWN; i++)
        names[i] = string_of(json_array_get(nodes, i), "name");
    if (n <= NODES_SHOWN)
        hostlist_compress((char *const *)names, n, &text, NULL);
    fprintf(out, " on ");
    if (n > 1)
        fprintf(out, "%zu nodes%s", n, text ? ", " : "");
    if (text)
        output_text(out, text);
    free(text);
}

/* When it began and ended; an end that is not recorded is left out. */
static void times_print(FILE *out, const json_t *a)
{
    double start = object_number(a, "start"), end = object_number(a, "end");
    char date[32];

    if (start <= 0)
        return;
    clock_iso8601((int64_t)start, date);
    fprintf(out, "\n      from %s", date);
    if (end <= 0)
        return;
    clock_iso8601((int64_t)end, date);
    fprintf(out, " to %s, %.1f s", date, end - start);
}

static void changes_print(FILE *out, const json_t *changes)
{
    const char *key;
    json_t *c;

    json_object_foreach((json_t *)changes, key, c)
    {
        fprintf(out, "\n      changed ");
        output_text(out, key);
        fprintf(out, ": ");
        output_text(out,
                    *string_of(c, "before") ? string_of(c, "before") : "(not set)");
        fprintf(out, " -> ");
        output_text(out, *string_of(c, "now") ? string_of(c, "now") : "(not set)");
    }
}

/* Where it started from, what failed, and what was lost. */
static void attempt_details_print(FILE *out, const json_t *a)
{
    if (*string_of(a, "checkpoint")) {
        fprintf(out, "\n      started from ");
        output_text(out, string_of(a, "checkpoint"));
    }
    if (*string_of(a, "message")) {
        fprintf(out, "\n      ");
        if (json_object_get(a, "rank") && integer_of(a, "rank") >= 0) {
            fprintf(out, "rank %lld on ", (long long)integer_of(a, "rank"));
            output_text(out, string_of(a, "host"));
            fprintf(out, ": ");
        }
        output_lines(out, string_of(a, "message"), "        ");
    }
    if (integer_of(a, "lost_iterations") > 0) {
        fprintf(out, "\n      lost %lld iteration%s",
                (long long)integer_of(a, "lost_iterations"),
                integer_of(a, "lost_iterations") == 1 ? "" : "s");
        if (json_is_number(json_object_get(a, "lost_seconds")))
            fprintf(out, ", %.1f s of training", object_number(a, "lost_seconds"));
    }
}

static void run_attempts_print(FILE *out, json_t *attempts)
{
    json_t *a;
    size_t i;

    json_array_foreach(attempts, i, a)
    {
        fprintf(out, "%s  %-3lld ", i == 0 ? "\nattempts\n" : "",
                (long long)integer_of(a, "attempt"));
        output_text(out, string_of(a, "outcome"));
        fprintf(out, "%s", cause_text(a));
        if (json_object_get(a, "workers"))
            fprintf(out, ", %lld worker%s", (long long)integer_of(a, "workers"),
                    integer_of(a, "workers") == 1 ? "" : "s");
        nodes_print(out, json_object_get(a, "nodes"));
        times_print(out, a);
        changes_print(out, json_object_get(a, "config_changes"));
        attempt_details_print(out, a);
        fputc('\n', out);
    }
}

/* The last value of a text or a vector, up to the end of its first line. False: it is
 * neither. */
static bool typed_print(FILE *out, const json_t *last)
{
    char *text = json_is_string(last)  ? strdup(json_string_value(last))
                 : json_is_array(last) ? json_dumps(last, JSON_COMPACT)
                                       : NULL;

    if (!text)
        return false;
    fprintf(out, " ");
    output_text(out, text);
    fputc('\n', out);
    free(text);
    return true;
}

/* True if some values are means over the workers, and some are rank 0's. */
static void kinds_print(FILE *out, const json_t *kinds)
{
    char *text = json_array_size(kinds) > 1 ? run_summary_kinds_text(kinds) : NULL;

    if (text)
        fprintf(out, "the values are %s\n", text);
    free(text);
}

static void run_metrics_print(FILE *out, json_t *metrics)
{
    const char *name;
    json_t *m;

    if (json_object_size(metrics) > 0)
        fprintf(out, "\n%-20s %12s %12s %9s %12s %9s\n", "metric", "last", "lowest",
                "at", "highest", "at");
    json_object_foreach(metrics, name, m)
    {
        const json_t *infinite = json_object_get(m, "last_infinite");
        char *shown = printable_text(name);

        fprintf(out, "%-20s", shown ? shown : "?");
        free(shown);
        if (typed_print(out, json_object_get(m, "last")))
            continue;
        number_print(out, infinite ? infinite : json_object_get(m, "last"));
        number_print(out, json_object_get(m, "min"));
        fprintf(out, " %9lld", (long long)integer_of(m, "min_iteration"));
        number_print(out, json_object_get(m, "max"));
        fprintf(out, " %9lld\n", (long long)integer_of(m, "max_iteration"));
    }
}

/* ", its files in checkpoint_000012/ (1.5M)" */
static void run_directory_print(FILE *out, const json_t *c)
{
    const char *path = string_of(c, "directory"), *base = strrchr(path, '/');
    char size[SIZE_TEXT_MAX];

    if (!*path)
        return;
    fprintf(out, ", %s in ",
            json_is_true(json_object_get(c, "directory_is_old"))
                ? "files of an earlier one"
                : "its files");
    output_text(out, base ? base + 1 : path);
    fprintf(out, "/ (%s)",
            size_format((uint64_t)integer_of(c, "directory_bytes"), size));
}

static void checkpoint_line(FILE *out, const json_t *run, const json_t *c)
{
    const char *path = string_of(c, "path"), *base = strrchr(path, '/');
    char size[SIZE_TEXT_MAX];

    fprintf(out, "  ");
    output_text(out, base ? base + 1 : path);
    if (json_object_get(c, "bytes"))
        fprintf(out, "  iteration %lld, %s, %s",
                (long long)integer_of(c, "training_iteration"),
                size_format((uint64_t)integer_of(c, "bytes"), size),
                string_of(c, "date"));
    run_directory_print(out, c);
    if (strcmp(path, string_of(run, "checkpoint")) == 0)
        fprintf(out, ", newest");
    if (strcmp(path, string_of(run, "best_checkpoint")) == 0)
        fprintf(out, ", best");
    if (json_is_true(json_object_get(c, "verified")))
        fprintf(out, ", verified");
    if (json_is_string(json_object_get(c, "error"))) {
        fprintf(out, "\n    DAMAGED: ");
        output_text(out, string_of(c, "error"));
    }
    fputc('\n', out);
}

/* Of many checkpoints, print the newest, the best, and the damaged ones. */
static void checkpoints_print(FILE *out, const json_t *run)
{
    const json_t *all = json_object_get(run, "checkpoints"), *c;
    size_t n = json_array_size(all), newest = CHECKPOINTS_SHOWN, more = 0, i;

    if (n > 0)
        fprintf(out, "\ncheckpoints\n");
    for (i = 0; i + CHECKPOINTS_SHOWN < n; i++) /* the best one takes one line */
        if (strcmp(string_of(json_array_get(all, i), "path"),
                   string_of(run, "best_checkpoint")) == 0)
            newest = CHECKPOINTS_SHOWN - 1;
    json_array_foreach((json_t *)all, i, c)
    {
        if (i + newest >= n || json_is_string(json_object_get(c, "error")) ||
            strcmp(string_of(c, "path"), string_of(run, "best_checkpoint")) == 0)
            checkpoint_line(out, run, c);
        else
            more++;
    }
    if (more > 0)
        fprintf(out, "  and %zu more (--json has all of them)\n", more);
}

/* Suggest what to type next. */
static void next_print(FILE *out, const json_t *run)
{
    const char *path = string_of(run, "path"), *status = string_of(run, "status");
    const char *metric =
        json_object_iter_key(json_object_iter(json_object_get(run, "metrics")));

    fprintf(out, "\nnext\n");
    if (strcmp(status, "running") != 0 && strcmp(status, "finished") != 0) {
        fprintf(out, "  continue     raytrain-run --config ");
        output_word(out, path);
        fprintf(out, "/run.cfg --resume\n");
    }
    if (metric) {
        fprintf(out, "  plot         raytrain-inspect --plot ");
        output_word(out, metric);
        fputc(' ', out);
        output_word(out, path);
        fputc('\n', out);
    }
    if (metric && run_has_file(path, "result.h5")) {
        char data[320];

        snprintf(data, sizeof data, "/metrics/%s", metric);
        fprintf(out, "  numbers      h5dump -d ");
        output_word(out, data);
        fputc(' ', out);
        output_word(out, path);
        fprintf(out, "/result.h5\n");
    }
    if (*string_of(run, "best_checkpoint")) {
        fprintf(out, "  checkpoint   raytrain-inspect --verify ");
        output_word(out, string_of(run, "best_checkpoint"));
        fputc('\n', out);
    }
    fprintf(out, "  logs         raytrain-inspect --logs ");
    output_word(out, path);
    fputc('\n', out);
}

void inspect_run_print(FILE *out, const json_t *run)
{
    fprintf(out, "run         ");
    output_text(out, string_of(run, "path"));
    fprintf(out, "\nstatus      ");
    output_text(out, string_of(run, "status"));
    if (*string_of(run, "holder")) {
        fprintf(out, " (");
        output_text(out, string_of(run, "holder"));
        fprintf(out, ")");
    }
    if (*string_of(run, "result_error")) {
        fprintf(out, " (");
        output_text(out, string_of(run, "result_error"));
        fprintf(out, ")");
    }
    fprintf(out, "\nreports     %lld", (long long)integer_of(run, "reports"));
    if (json_is_object(json_object_get(run, "last_report")))
        fprintf(out, ", %.1f s of training",
                object_number(json_object_get(run, "last_report"), "time_total_s"));
    fputc('\n', out);
    run_attempts_print(out, json_object_get(run, "attempts"));
    run_metrics_print(out, json_object_get(run, "metrics"));
    kinds_print(out, json_object_get(run, "metrics_are"));
    checkpoints_print(out, run);
    next_print(out, run);
}
