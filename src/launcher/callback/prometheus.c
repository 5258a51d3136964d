/*
 * prometheus.c - "prometheus": the state of the run as a file in the text format of
 * Prometheus, for the textfile collector of node_exporter. It is replaced, by a rename,
 * at most once in interval_s, and when the run ends.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "callback/callback.h"
#include "callback/deferred.h"
#include "util/report_number.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fs.h"

#define DEFAULT_FILE "metrics.prom"
#define PROMETHEUS_END_S 5.0

struct prometheus {
    struct callback_list *list;
    struct event_loop *loop;
    const char *run;
    struct deferred *writer;
    int timer;
    json_t *report; /* the last one; NULL: none */
    char status[16];
    int64_t attempt, checkpoint; /* -1: none */
    int64_t workers, nodes;      /* 0: not known */
    bool changed, failed;
};

/* ---- The text ---- */

/* A number as Prometheus writes it. */
static void number_write(FILE *out, double value)
{
    if (isnan(value))
        fputs("NaN\n", out);
    else if (isinf(value))
        fputs(value > 0 ? "+Inf\n" : "-Inf\n", out);
    else
        fprintf(out, "%.17g\n", value);
}

/* The value of a label, in quotes. */
static void label_write(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            putc(*text, out);
    putc('"', out);
}

static void labels_write(FILE *out, const struct prometheus *p)
{
    fputs("{run=", out);
    label_write(out, p->run);
    if (p->attempt >= 0)
        fprintf(out, ",attempt=\"%lld\"", (long long)p->attempt);
}

static void head_write(FILE *out, const char *name, const char *help)
{
    fprintf(out, "# HELP raytrain_%s %s\n# TYPE raytrain_%s gauge\n", name, help, name);
}

static void gauge_write(FILE *out, const struct prometheus *p, const char *name,
                        const char *help, double value)
{
    head_write(out, name, help);
    fprintf(out, "raytrain_%s", name);
    labels_write(out, p);
    fputs("} ", out);
    number_write(out, value);
}

static void status_write(FILE *out, const struct prometheus *p)
{
    static const char *const all[] = {"running", "finished", "stopped", "failed"};

    head_write(out, "run_status", "1 for the status of the run, 0 for the others.");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        fputs("raytrain_run_status{run=", out);
        label_write(out, p->run);
        fprintf(out, ",status=\"%s\"} %d\n", all[i], strcmp(all[i], p->status) == 0);
    }
}

/* The character in place of one in a metric's name. */
static char name_char(char c)
{
    return c == '\0' || isalnum((unsigned char)c) ? c : '_';
}

/* The name of a user's metric: "train/loss" becomes metric_train_loss. */
static void name_write(FILE *out, const char *metric)
{
    fputs("raytrain_metric_", out);
    for (; *metric; metric++)
        putc(name_char(*metric), out);
}

/* 0: the two metrics have the same name, and differ in the label `metric`. */
static int name_order(const char *a, const char *b)
{
    while (*a && name_char(*a) == name_char(*b)) {
        a++;
        b++;
    }
    return name_char(*a) - name_char(*b);
}

static int by_name(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = name_order(x, y);

    return order != 0 ? order : strcmp(x, y);
}

static void metric_write(FILE *out, const struct prometheus *p, const char *metric)
{
    name_write(out, metric);
    labels_write(out, p);
    fputs(",metric=", out);
    label_write(out, metric);
    fputs("} ", out);
    number_write(out, metric_number(p->report, metric));
}

/* Metrics with the same name: their lines must be together. */
static void group_write(FILE *out, const struct prometheus *p, const char **metrics,
                        size_t n)
{
    fputs("# HELP ", out);
    name_write(out, *metrics);
    fputs(" The latest value of a reported metric.\n# TYPE ", out);
    name_write(out, *metrics);
    fputs(" gauge\n", out);
    for (size_t i = 0; i < n; i++)
        metric_write(out, p, metrics[i]);
}

static int metrics_write(FILE *out, const struct prometheus *p)
{
    json_t *by_rank = json_object_get(p->report, "by_rank"), *ignored;
    const char **all = calloc(json_object_size(by_rank) + 1, sizeof *all), *name;
    size_t n = 0, end;

    if (!all)
        return -1;
    json_object_foreach(by_rank, name, ignored)
    {
        if (metric_is_number(p->report, name))
            all[n++] = name;
    }
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i = end) {
        end = i + 1;
        while (end < n && name_order(all[i], all[end]) == 0)
            end++;
        group_write(out, p, &all[i], end - i);
    }
    free(all);
    return 0;
}

static double number_of(const struct prometheus *p, const char *key)
{
    const json_t *value = json_object_get(p->report, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int report_write(FILE *out, const struct prometheus *p)
{
    gauge_write(out, p, "training_iteration", "The iteration of the latest report.",
                number_of(p, "training_iteration"));
    gauge_write(out, p, "time_total_seconds", "The training time of all attempts.",
                number_of(p, "time_total_s"));
    gauge_write(out, p, "time_this_iter_seconds", "The time of the latest iteration.",
                number_of(p, "time_this_iter_s"));
    gauge_write(out, p, "report_timestamp_seconds",
                "When the latest report was made, in Unix time.",
                number_of(p, "timestamp"));
    return metrics_write(out, p);
}

/* malloc'ed; NULL without memory. */
static char *text_make(const struct prometheus *p)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    bool bad = false;

    if (!out)
        return NULL;
    status_write(out, p);
    gauge_write(out, p, "update_timestamp_seconds",
                "When this file was written, in Unix time.", clock_unix_double());
    if (p->attempt >= 0)
        gauge_write(out, p, "attempt", "The number of the latest attempt, from 0 on.",
                    (double)p->attempt);
    if (p->workers > 0) {
        gauge_write(out, p, "workers", "The workers of the latest attempt.",
                    (double)p->workers);
        gauge_write(out, p, "nodes", "Their nodes.", (double)p->nodes);
    }
    if (p->checkpoint >= 0)
        gauge_write(out, p, "checkpoint_iteration",
                    "The iteration of the latest checkpoint that was reported.",
                    (double)p->checkpoint);
    if (p->report)
        bad = report_write(out, p) < 0;
    bad = ferror(out) || bad;
    if (fclose(out) == 0 && !bad)
        return text;
    free(text);
    return NULL;
}

/* ---- In the thread ---- */

struct place {
    char *path; /* may be a directory */
    char *name; /* the file's name in it */
};

/* The file at `path`, or the file `name` in it if it is a directory. malloc'ed. */
static char *file_of(const struct place *place)
{
    const char *path = place->path;
    struct stat st;
    char *file;
    int n;

    if (path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        n = asprintf(&file, "%s/%s", path, place->name);
    else
        n = asprintf(&file, "%s", path);
    return n < 0 ? NULL : file;
}

/* Readable for others: the collector is another user. */
static int item_write(const char *file, const char *text, struct error *err)
{
    if (fs_replace(file, text, strlen(text), 0644, err) < 0)
        return -1;
    return chmod(file, 0644) < 0 ? fs_error(err, "change the mode of", file) : 0;
}

/* Writes only the latest text. */
static int prometheus_work(void *state, void *const *items, size_t n, bool last,
                           struct error *err)
{
    const struct place *place = state;
    char *file;
    int rc;

    (void)last;
    if (n == 0)
        return 0;
    if (fault_point("prometheus.write", 0) < 0)
        return fs_error(err, "write", place->path);
    file = file_of(place);
    rc = file ? item_write(file, items[n - 1], err) : error_no_memory(err);
    free(file);
    return rc;
}

static void place_free(void *state)
{
    struct place *place = state;

    free(place->path);
    free(place->name);
    free(place);
}

/* RUN/metrics.prom, or the setting `path`. NULL without memory. */
static struct place *place_new(const struct callback_context *context)
{
    const char *path = context->config->path;
    struct place *place = calloc(1, sizeof *place);

    if (!place)
        return NULL;
    place->path = path ? strdup(path) : run_dir_file(context->run_dir, DEFAULT_FILE);
    if (asprintf(&place->name, "raytrain-%s.prom", context->cfg->run_config.name) < 0)
        place->name = NULL;
    if (place->path && place->name)
        return place;
    place_free(place);
    return NULL;
}

static const struct deferred_ops prometheus_deferred = {
    .work = prometheus_work, .item_free = free, .state_free = place_free};

/* ---- In the launcher ---- */

static void text_post(struct prometheus *p)
{
    struct error what;

    if (deferred_says(p->writer, &what, &p->failed))
        callback_note(p->list, "prometheus: %s; it is not written any more in this run",
                      what.text);
    if (!p->failed)
        deferred_post(p->writer, text_make(p));
    p->changed = false;
}

static int prometheus_timer(void *arg, struct error *err)
{
    struct prometheus *p = arg;

    (void)err;
    if (p->changed)
        text_post(p);
    return 0;
}

static int prometheus_create(struct callback *cb,
                             const struct callback_context *context, struct error *err)
{
    struct prometheus *p = calloc(1, sizeof *p);
    struct place *place = place_new(context);

    if (!p || !place) {
        free(p);
        if (place)
            place_free(place);
        return error_no_memory(err);
    }
    *p = (struct prometheus){.list = context->list,
                             .loop = context->loop,
                             .run = context->cfg->run_config.name,
                             .timer = -1,
                             .status = "running",
                             .attempt = -1,
                             .checkpoint = -1};
    if (deferred_create(&prometheus_deferred, place, 0, &p->writer, err) < 0) {
        free(p);
        return -1;
    }
    if (event_loop_every(p->loop, context->config->interval_s, prometheus_timer, p,
                         &p->timer, err) < 0) {
        deferred_destroy(p->writer);
        free(p);
        return -1;
    }
    cb->impl = p;
    if (!context->finished)
        text_post(p);
    return 0;
}

static void prometheus_attempt_start(struct callback *cb, const json_t *attempt)
{
    struct prometheus *p = cb->impl;

    p->attempt = json_integer_value(json_object_get(attempt, "attempt"));
    p->workers = json_integer_value(json_object_get(attempt, "workers"));
    p->nodes = (int64_t)json_array_size(json_object_get(attempt, "nodes"));
    text_post(p);
}

static void prometheus_report(struct callback *cb, const json_t *report)
{
    struct prometheus *p = cb->impl;

    json_decref(p->report);
    p->report = json_incref((json_t *)(uintptr_t)report);
    if (json_is_string(json_object_get(report, "checkpoint")))
        p->checkpoint =
            json_integer_value(json_object_get(report, "training_iteration"));
    p->changed = true;
}

static void prometheus_end(struct callback *cb, const json_t *result)
{
    struct prometheus *p = cb->impl;
    json_t *last = json_object_get(result, "metrics");

    snprintf(p->status, sizeof p->status, "%s",
             json_string_value(json_object_get(result, "status")));
    if (!p->report && json_is_object(last))
        p->report = json_incref(last);
    if (p->attempt < 0)
        p->attempt = json_integer_value(json_object_get(result, "attempts")) - 1;
    text_post(p);
    if (!deferred_finish(p->writer, PROMETHEUS_END_S) && !p->failed)
        callback_note(p->list, "prometheus: the state of the run is not written: its "
                               "storage does not respond");
    if (!p->failed) {
        struct error what;

        if (deferred_says(p->writer, &what, &p->failed))
            callback_note(p->list, "prometheus: %s", what.text);
    }
}

static void prometheus_destroy(struct callback *cb)
{
    struct prometheus *p = cb->impl;

    event_loop_remove(p->loop, p->timer);
    deferred_destroy(p->writer);
    json_decref(p->report);
    free(p);
}

const struct callback_ops callback_prometheus = {
    .create = prometheus_create,
    .on_attempt_start = prometheus_attempt_start,
    .on_report = prometheus_report,
    .on_end = prometheus_end,
    .destroy = prometheus_destroy,
};
