/* overview.c - the head of the page: what the run is, how it ended, and its numbers. */
#include "config.h"

#include "page/sections.h"

#include <math.h>
#include <string.h>

#include "inspect/output.h"
#include "page/html.h"
#include "page/score.h"
#include "page/series.h"
#include "util/size.h"

/* The word, the colour and the symbol of each status; the symbols are for readers who
 * do not see colours. */
static const struct {
    const char *status, *class, *symbol;
} looks[] = {
    {"finished", "good", "\xe2\x9c\x93"},
    {"running", "busy", "\xe2\x96\xb6"},
    {"stopped", "warn", "\xe2\x8f\xb8\xef\xb8\x8e"},
    {"interrupted", "warn", "!"},
    {"failed", "bad", "\xe2\x9c\x97"},
};

static void badge_write(FILE *out, const char *status)
{
    const char *class = "warn", *symbol = "?";

    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (strcmp(looks[i].status, status) == 0) {
            class = looks[i].class;
            symbol = looks[i].symbol;
        }
    fprintf(out, "<p class=\"badge %s\"><span aria-hidden=\"true\">%s</span> ", class,
            symbol);
    html_text(out, status);
    fputs("</p>", out);
}

static void tile_begin(FILE *out, const char *title)
{
    fputs("<div><dt>", out);
    html_text(out, title);
    fputs("</dt><dd>", out);
}

static void tile(FILE *out, const char *title, const char *value, const char *note)
{
    tile_begin(out, title);
    html_text(out, value);
    if (*note) {
        fputs("<small>", out);
        html_text(out, note);
        fputs("</small>", out);
    }
    fputs("</dd></div>\n", out);
}

/* ---- The tiles ---- */

static void reports_tile(FILE *out, const struct facts *f)
{
    char value[HTML_NUMBER_MAX] = "none", count[HTML_NUMBER_MAX], note[80] = "";
    int64_t last = 0;

    if (f->table.n > 0) {
        last = facts_integer(f, f->table.n - 1, "training_iteration");
        count_text(last, value);
    }
    if (f->table.n > 0 && last != (int64_t)f->table.n)
        snprintf(note, sizeof note, "%s reports",
                 count_text((int64_t)f->table.n, count));
    tile(out, "Iterations", value, note);
}

static void time_tile(FILE *out, const struct facts *f)
{
    char value[HTML_NUMBER_MAX], each[HTML_NUMBER_MAX], note[80] = "";
    double total;

    if (f->table.n == 0)
        return;
    total = f->table.fields[f->table.n - 1][series_field("time_total_s")].number;
    if (isfinite(total) && total > 0)
        snprintf(note, sizeof note, "%s per iteration",
                 duration_text(total / (double)f->table.n, each));
    tile(out, "Training time", duration_text(total, value), note);
}

static void attempts_tile(FILE *out, const struct facts *f)
{
    char value[HTML_NUMBER_MAX], note[80] = "";
    size_t failed = 0, i;
    json_t *a;

    json_array_foreach((json_t *)(uintptr_t)f->attempts, i, a)
    {
        failed += strcmp(string_of(a, "outcome"), "failed") == 0;
    }
    if (failed > 0)
        snprintf(note, sizeof note, "%zu failed", failed);
    tile(out, "Attempts", count_text((int64_t)json_array_size(f->attempts), value),
         note);
}

static void workers_tile(FILE *out, const struct facts *f)
{
    size_t n = json_array_size(f->attempts), nodes;
    const json_t *a = n ? json_array_get(f->attempts, n - 1) : NULL;
    char value[HTML_NUMBER_MAX], note[80] = "";

    if (!json_object_get(a, "workers"))
        return;
    nodes = json_array_size(json_object_get(a, "nodes"));
    if (nodes > 0)
        snprintf(note, sizeof note, "on %zu node%s", nodes, nodes == 1 ? "" : "s");
    tile(out, "Workers", count_text(integer_of(a, "workers"), value), note);
}

static void checkpoints_tile(FILE *out, const struct facts *f)
{
    char value[HTML_NUMBER_MAX], size[SIZE_TEXT_MAX], note[80] = "";
    uint64_t bytes = 0;
    size_t i;
    json_t *c;

    json_array_foreach((json_t *)(uintptr_t)f->checkpoints, i, c)
    {
        bytes += (uint64_t)(integer_of(c, "bytes") + integer_of(c, "directory_bytes"));
    }
    if (bytes > 0)
        snprintf(note, sizeof note, "%s in all", size_format(bytes, size));
    tile(out, "Checkpoints",
         count_text((int64_t)json_array_size(f->checkpoints), value), note);
}

/* The best value by the configuration's score, or else the last value of the first
 * metric. */
static void score_tile(FILE *out, const struct facts *f)
{
    char value[HTML_NUMBER_MAX], count[HTML_NUMBER_MAX], note[80], title[160];
    struct score score;

    if (!score_find(f, &score))
        return;
    snprintf(title, sizeof title, "%s %.120s", score.is_best ? "Best" : "Last",
             score.name);
    snprintf(note, sizeof note, "at iteration %s",
             count_text((int64_t)score.point.iteration, count));
    tile(out, title, figure_text(score.point.value, value), note);
}

/* ---- The head ---- */

/* The message of the last attempt, if the run did not finish. */
static void alert_write(FILE *out, const struct facts *f)
{
    size_t n = json_array_size(f->attempts);
    const json_t *a = n ? json_array_get(f->attempts, n - 1) : NULL;
    const char *message = string_of(a, "message");

    if (*string_of(f->run, "result_error")) {
        fputs("<p class=\"alert\" role=\"note\">", out);
        html_lines(out, string_of(f->run, "result_error"));
        fputs("</p>\n", out);
    }
    if (!*message || strcmp(f->status, "finished") == 0 ||
        strcmp(f->status, "running") == 0)
        return;
    fputs("<p class=\"alert\" role=\"note\">", out);
    if (json_is_integer(json_object_get(a, "rank")) && integer_of(a, "rank") >= 0) {
        fprintf(out, "Rank %lld on ", (long long)integer_of(a, "rank"));
        html_text(out, string_of(a, "host"));
        fputs(": ", out);
    }
    html_lines(out, message);
    fputs("</p>\n", out);
}

void summary_write(FILE *out, const struct facts *f)
{
    char zone[HTML_NUMBER_MAX];
    double start = 0, end = 0;

    fputs("<header><div class=\"title\"><h1>", out);
    html_text(out, f->name);
    fputs("</h1>", out);
    badge_write(out, f->status);
    fputs("</div>\n<p class=\"where\"><code>", out);
    html_text(out, f->path);
    fputs("</code>", out);
    if (json_array_size(f->attempts) > 0 &&
        facts_times(f, json_array_get(f->attempts, 0), &start, &end)) {
        fputs("<br>started ", out);
        html_date(out, start);
        fprintf(out, " (%s)", zone_text(start, zone));
    }
    fputs("</p></header>\n", out);
    alert_write(out, f);
    fputs("<dl class=\"tiles\">\n", out);
    score_tile(out, f);
    reports_tile(out, f);
    time_tile(out, f);
    attempts_tile(out, f);
    workers_tile(out, f);
    checkpoints_tile(out, f);
    fputs("</dl>\n", out);
}
