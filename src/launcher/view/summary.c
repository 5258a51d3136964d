/* summary.c - the lines that a display prints at the end, from the Result and the
 * view. */
#include "view/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"
#include "view/duration.h"

static const char *string_of(const json_t *result, const char *key)
{
    return json_string_value(json_object_get(result, key));
}

static void row(FILE *out, const char *label, const char *text)
{
    char *printable = printable_text(text);

    fprintf(out, "  %-10s  %s\n", label, printable ? printable : "");
    free(printable);
}

static void status_write(FILE *out, const struct run_state *v, const char *status,
                         bool color, double now)
{
    bool good = strcmp(status, "finished") == 0, bad = strcmp(status, "failed") == 0;
    char time[DURATION_TEXT];

    fputs("raytrain: ", out);
    if (color)
        fputs(good ? "\033[1;32m" : bad ? "\033[1;31m" : "\033[1m", out);
    fprintf(out, "%s%s", status, color ? "\033[m" : "");
    if (v->attempts > 0)
        fprintf(out, " after %s", duration_text(now - v->started, time));
    if (v->predicts && v->rows.done > 0)
        fprintf(out, ", %" PRId64 " row%s", v->rows.done, v->rows.done == 1 ? "" : "s");
    else if (v->iteration > 0)
        fprintf(out, ", %" PRId64 " iteration%s", v->iteration,
                v->iteration == 1 ? "" : "s");
    fputc('\n', out);
}

/* ---- Metrics ---- */

static void summary_metric_write(FILE *out, const struct metric_view *m,
                                 const char *label)
{
    const struct metric_point *best = metric_view_best(m);
    char text[METRIC_TEXT], line[RAYTRAIN_NAME_MAX + 3 * METRIC_TEXT];
    int used = snprintf(line, sizeof line, "%s %s", m->name, metric_view_text(m, text));

    if (best && best->iteration != m->iteration)
        snprintf(line + used, sizeof line - (size_t)used,
                 " (best %s at iteration %" PRId64 ")",
                 metric_number_text(best->value, text), best->iteration);
    else if (best)
        snprintf(line + used, sizeof line - (size_t)used, " (the best)");
    row(out, label, line);
}

static void summary_metrics_write(FILE *out, const struct run_state *v)
{
    char more[64];

    for (size_t i = 0; i < v->n_metrics && i < METRICS_SHOWN; i++)
        summary_metric_write(out, v->metrics[i], i == 0 ? "metrics" : "");
    if (v->n_metrics > METRICS_SHOWN) {
        snprintf(more, sizeof more, "and %zu more", v->n_metrics - METRICS_SHOWN);
        row(out, "", more);
    }
}

/* ---- Attempts ---- */

static void attempts_write(FILE *out, const struct run_state *v, const json_t *result)
{
    int64_t n = json_integer_value(json_object_get(result, "attempts"));
    char text[96];

    if (n <= 1)
        return;
    if (v->failures > 0 && v->attempts == n)
        snprintf(text, sizeof text, "%" PRId64 ", of which %d failed", n, v->failures);
    else if (v->failures > 0)
        snprintf(text, sizeof text, "%" PRId64 "; of the last %d, %d failed", n,
                 v->attempts, v->failures);
    else
        snprintf(text, sizeof text, "%" PRId64, n);
    row(out, "attempts", text);
}

/* ---- Checkpoints ---- */

static void checkpoints_write(FILE *out, const json_t *result)
{
    const char *newest = string_of(result, "checkpoint");
    const char *best = string_of(result, "best_checkpoint");

    if (newest)
        row(out, "checkpoint", newest);
    if (newest && best && strcmp(best, newest) != 0)
        row(out, "best", best);
}

/* Where the logs of the last attempt are. */
static void logs_write(FILE *out, const json_t *result, const char *path)
{
    int64_t n = json_integer_value(json_object_get(result, "attempts"));
    char *logs;

    if (n < 1 || !path || asprintf(&logs, "%s/logs/attempt-%" PRId64, path, n - 1) < 0)
        return;
    row(out, "logs", logs);
    free(logs);
}

static void summary_write(FILE *out, const struct run_state *v, const json_t *result,
                          const char *inspect, bool color, double now)
{
    const char *status = string_of(result, "status"), *path = string_of(result, "path");
    const char *output = v->cfg->predict.output;

    status_write(out, v, status ? status : "ended", color, now);
    summary_metrics_write(out, v);
    attempts_write(out, v, result);
    if (output && status && strcmp(status, "finished") == 0)
        row(out, "output", output);
    if (!inspect)
        return;
    row(out, "run", path ? path : "");
    checkpoints_write(out, result);
    logs_write(out, result, path);
    row(out, "look at it", inspect);
}

char *summary_text(const struct run_state *v, const json_t *result, const char *inspect,
                   bool color, double now)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    summary_write(out, v, result, inspect, color, now);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
