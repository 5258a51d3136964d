/*
 * compare_page.c - the page from top to bottom: head, a table of the runs with what
 * differs in their configurations, a chart of each metric, a table of their values, and
 * the commands that print the same in a terminal.
 *
 * The reports of one run at a time are in memory; what remains of them is a few points
 * of each curve.
 */
#include "config.h"

#include "page/compare_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/output.h"
#include "inspect/run_summary.h"
#include "inspect/views.h"
#include "page/document.h"
#include "page/grid.h"
#include "page/html.h"
#include "page/overlay.h"
#include "run/metrics.h"
#include "util/size.h"

#define CURVES_SHOWN 120
#define ROWS_SHOWN   1000
#define KEYS_SHOWN   40

/* Points of all lines share the size of the page. */
#define POINTS_MAX   1000
#define POINTS_MIN   8
#define POINTS_TOTAL 30000

struct compared {
    json_t *comparison; /* inspect_compare() */
    json_t *runs, *config, *names;
    size_t n_runs, n_lines, n_names; /* lines: runs with a curve */
    struct overlay_line *lines;      /* of all runs, metric by metric */
};

static const char *name_at(const struct compared *c, size_t i)
{
    return json_string_value(json_array_get(c->names, i));
}

static const json_t *run_at(const struct compared *c, size_t i)
{
    return json_array_get(c->runs, i);
}

/* ---- Loading ---- */

static size_t room_of(const struct compared *c)
{
    size_t curves = c->n_names * c->n_lines;
    size_t room = curves ? POINTS_TOTAL / curves : POINTS_MAX;

    return room > POINTS_MAX ? POINTS_MAX : room < POINTS_MIN ? POINTS_MIN : room;
}

static int compared_lines_take(struct compared *c, size_t run,
                               const struct metrics_table *t, struct error *err)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        const struct series s = {.table = t, .column = &t->columns[i]};

        for (size_t k = 0; series_has_numbers(s.column) && k < c->n_names; k++)
            if (strcmp(s.column->name, name_at(c, k)) == 0 &&
                overlay_line_take(&c->lines[k * c->n_lines + run], &s, room_of(c),
                                  err) < 0)
                return -1;
    }
    return 0;
}

static int run_load(struct compared *c, size_t run, const char *path, struct error *err)
{
    struct metrics_table table = {0};
    int rc;

    for (size_t k = 0; k < c->n_names; k++)
        c->lines[k * c->n_lines + run].name = string_of(run_at(c, run), "name");
    rc = metrics_load_table(path, &table, err);
    if (rc == 0)
        rc = compared_lines_take(c, run, &table, err);
    metrics_table_clear(&table);
    return rc;
}

static int compared_load(struct compared *c, const struct run_list *runs,
                         struct error *err)
{
    size_t names;

    *c = (struct compared){.comparison = inspect_compare(runs, err)};
    if (!c->comparison)
        return -1;
    c->runs = json_object_get(c->comparison, "runs");
    c->config = json_object_get(c->comparison, "config");
    c->names = run_summary_metrics(c->runs);
    c->n_runs = json_array_size(c->runs);
    c->n_lines = c->n_runs < OVERLAY_RUNS ? c->n_runs : OVERLAY_RUNS;
    names = json_array_size(c->names);
    c->n_names = names < CURVES_SHOWN ? names : CURVES_SHOWN;
    c->lines = calloc(c->n_names * c->n_lines + 1, sizeof *c->lines);
    if (!c->lines)
        return error_no_memory(err);
    for (size_t i = 0; i < c->n_lines; i++)
        if (run_load(c, i, runs->paths[i], err) < 0)
            return -1;
    return 0;
}

static void compared_clear(struct compared *c)
{
    for (size_t i = 0; c->lines && i < c->n_names * c->n_lines; i++)
        overlay_line_clear(&c->lines[i]);
    free(c->lines);
    json_decref(c->names);
    json_decref(c->comparison);
}

/* ---- The head ---- */

static void compared_title_write(FILE *out, const void *arg)
{
    const struct compared *c = arg;

    fprintf(out, "%zu runs compared: ", c->n_runs);
    html_text(out, string_of(run_at(c, 0), "name"));
    fputs(", ", out);
    html_text(out, string_of(run_at(c, 1), "name"));
    fputs(c->n_runs > 2 ? ", ..." : "", out);
}

/* The directory that all paths have in common: its length. */
static size_t common_length(const struct compared *c)
{
    const char *first = string_of(run_at(c, 0), "path"), *slash = strrchr(first, '/');
    size_t n = slash ? (size_t)(slash - first) : 0;

    for (size_t i = 1; i < c->n_runs; i++) {
        const char *path = string_of(run_at(c, i), "path");

        while (n > 0 &&
               (strncmp(path, first, n) != 0 || path[n] != '/' || first[n] != '/'))
            n--;
    }
    return n;
}

static void header_write(FILE *out, const struct compared *c)
{
    size_t n = common_length(c);
    char *where = n ? strndup(string_of(run_at(c, 0), "path"), n) : NULL;

    fprintf(out, "<header><div class=\"title\"><h1>%zu runs compared</h1></div>\n",
            c->n_runs);
    if (where) {
        fputs("<p class=\"where\">below <code>", out);
        html_text(out, where);
        fputs("</code></p>", out);
    }
    fputs("</header>\n", out);
    free(where);
}

/* ---- The table of runs ---- */

/* The metric by which all runs keep checkpoints, in the same direction; NULL: none. */
static const char *score_of(const struct compared *c, bool *low)
{
    const char *name = string_of(run_at(c, 0), "score");
    int order = *name ? run_summary_order(c->runs, name) : 0;

    *low = order == 1;
    return order ? name : NULL;
}

static double best_at(const struct compared *c, size_t run, const char *score, bool low)
{
    const json_t *metrics = json_object_get(run_at(c, run), "metrics");
    const json_t *value =
        json_object_get(json_object_get(metrics, score), low ? "min" : "max");

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static size_t best_run(const struct compared *c, const char *score, bool low)
{
    size_t best = 0;

    for (size_t i = 1; i < c->n_runs; i++) {
        double a = best_at(c, best, score, low), b = best_at(c, i, score, low);

        if (isnan(a) || (low ? b < a : b > a))
            best = i;
    }
    return best;
}

static void score_cell(struct grid *g, const struct compared *c, size_t run,
                       const char *score, bool low)
{
    const json_t *metrics = json_object_get(run_at(c, run), "metrics");
    double value = best_at(c, run, score, low);
    bool is_best = run == best_run(c, score, low) && !isnan(value);
    char text[HTML_NUMBER_MAX], at[HTML_NUMBER_MAX];

    grid_cell(g);
    fprintf(g->out, is_best ? "<b class=\"good\">%s</b>" : "%s",
            figure_text(value, text));
    if (!isnan(value))
        fprintf(g->out, " <span class=\"soft\">at %s</span>",
                count_text(integer_of(json_object_get(metrics, score),
                                      low ? "min_iteration" : "max_iteration"),
                           at));
}

static void count_cell(struct grid *g, const json_t *run, const char *key)
{
    const json_t *value = json_object_get(run, key);
    char text[HTML_NUMBER_MAX];

    grid_text(g, json_is_integer(value) ? count_text(json_integer_value(value), text)
                                        : "\xe2\x80\x93");
}

static void run_cells(struct grid *g, const struct compared *c, size_t run)
{
    const char *status = string_of(run_at(c, run), "status");

    grid_cell(g);
    if (run < c->n_lines)
        overlay_key(g->out, run);
    html_text(g->out, string_of(run_at(c, run), "name"));
    grid_cell(g);
    fputs("<span class=\"outcome\" data-outcome=\"", g->out);
    html_text(g->out, status);
    fputs("\">", g->out);
    html_text(g->out, status);
    fputs("</span>", g->out);
}

static void run_row(struct grid *g, const struct compared *c, size_t run)
{
    const json_t *r = run_at(c, run), *time = json_object_get(r, "time_total_s");
    char text[HTML_NUMBER_MAX];
    const char *key, *score;
    json_t *values;
    size_t k = 0;
    bool low;

    run_cells(g, c, run);
    json_object_foreach(c->config, key, values)
    {
        const json_t *value = json_array_get(values, run);

        if (k++ < KEYS_SHOWN)
            grid_text(g, json_is_string(value) ? json_string_value(value) : "not set");
    }
    score = score_of(c, &low);
    if (score)
        score_cell(g, c, run, score, low);
    count_cell(g, r, "iteration");
    grid_text(
        g, duration_text(json_is_number(time) ? json_number_value(time) : NAN, text));
    count_cell(g, r, "workers");
    count_cell(g, r, "attempts");
    count_cell(g, r, "checkpoints");
}

/* The titles: those of keys are the keys. Returns their number. */
static size_t titles_take(const struct compared *c, const char **titles, char best[200])
{
    static const char *const last[] = {"#Iteration", "#Training time", "#Workers",
                                       "#Attempts", "#Checkpoints"};
    size_t n = 0, keys = 0;
    const char *key, *score;
    json_t *ignored;
    bool low;

    titles[n++] = "Run";
    titles[n++] = "Status";
    json_object_foreach(c->config, key, ignored) if (keys++ < KEYS_SHOWN) titles[n++] =
        key;
    score = score_of(c, &low);
    if (score) {
        snprintf(best, 200, "#Best %.180s", score);
        titles[n++] = best;
    }
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        titles[n++] = last[i];
    return n;
}

static void runs_write(FILE *out, const struct compared *c)
{
    size_t keys = json_object_size(c->config), n, i;
    const char *titles[KEYS_SHOWN + 10];
    char best[200], caption[100];
    struct grid g;

    fputs("<section id=\"runs\" aria-labelledby=\"runs-title\">"
          "<h2 id=\"runs-title\">Runs</h2>\n<div class=\"wide\" tabindex=\"0\" "
          "role=\"group\" aria-labelledby=\"runs-title\">",
          out);
    n = titles_take(c, titles, best);
    snprintf(caption, sizeof caption, "%s%s",
             keys == 0 ? "Their configurations do not differ"
                       : "With what differs in their configurations",
             keys > KEYS_SHOWN ? ": the first 40 keys" : "");
    grid_begin(&g, out, caption, titles, n);
    for (i = 0; i < c->n_runs && i < ROWS_SHOWN; i++)
        run_row(&g, c, i);
    grid_end(&g, c->n_runs - i);
    fputs("</div>\n", out);
    if (keys > KEYS_SHOWN)
        fprintf(out,
                "<p class=\"more\">%zu more keys differ: raytrain-inspect --compare "
                "lists all of them</p>\n",
                keys - KEYS_SHOWN);
    fputs("</section>\n", out);
}

/* ---- Metrics ---- */

static const char TOOLS[] =
    "<div class=\"tools\" hidden><label>Show <input id=\"filter\" type=\"search\" "
    "placeholder=\"all metrics\" autocomplete=\"off\"></label> "
    "<label><input id=\"log\" type=\"checkbox\"> logarithmic</label> "
    "<span class=\"hint\">Move over a chart, or focus it and use the arrow keys; drag "
    "to zoom, double-click to reset.</span></div>\n";

/* A box for each run, which hides its line. */
static void boxes_write(FILE *out, const struct compared *c)
{
    fputs("<div class=\"tools boxes\" hidden>", out);
    for (size_t i = 0; i < c->n_lines; i++) {
        fprintf(out,
                "<label><input type=\"checkbox\" data-run=\"%zu\" checked "
                "autocomplete=\"off\"> ",
                i);
        overlay_key(out, i);
        html_text(out, string_of(run_at(c, i), "name"));
        fputs("</label> ", out);
    }
    fputs("</div>\n", out);
}

static void value_rows(struct grid *g, const struct compared *c, const char *name)
{
    static const char *const keys[] = {"min", "max"};
    static const char *const iterations[] = {"min_iteration", "max_iteration"};
    char text[HTML_NUMBER_MAX];

    for (size_t i = 0; i < c->n_runs; i++) {
        const json_t *metrics = json_object_get(run_at(c, i), "metrics");
        const json_t *m = json_object_get(metrics, name);

        if (!m)
            continue;
        grid_text(g, name);
        grid_text(g, string_of(run_at(c, i), "name"));
        grid_text(g, figure_text(json_number_value(json_object_get(m, "last")), text));
        for (int k = 0; k < 2; k++) {
            grid_text(
                g, figure_text(json_number_value(json_object_get(m, keys[k])), text));
            grid_text(g, count_text(integer_of(m, iterations[k]), text));
        }
    }
}

static void compared_values_write(FILE *out, const struct compared *c)
{
    static const char *const titles[] = {"Metric",       "Run",           "#Last",
                                         "#Lowest",      "#at iteration", "#Highest",
                                         "#at iteration"};
    size_t n = json_array_size(c->names), most = ROWS_SHOWN / c->n_runs, i;
    struct grid g;

    most = most > 0 ? most : 1;
    fputs("<div class=\"wide\" tabindex=\"0\" role=\"group\" "
          "aria-labelledby=\"metrics-title\">",
          out);
    grid_begin(&g, out, "Values in the reports", titles,
               sizeof titles / sizeof *titles);
    for (i = 0; i < n && i < most; i++)
        value_rows(&g, c, name_at(c, i));
    grid_end(&g, 0);
    fputs("</div>\n", out);
    if (i < n)
        fprintf(out,
                "<p class=\"more\">and %zu more metrics: raytrain-inspect --compare "
                "lists all of them</p>\n",
                n - i);
}

static void compared_curves_write(FILE *out, const struct compared *c)
{
    size_t names = json_array_size(c->names);

    fprintf(out, "%s", TOOLS);
    boxes_write(out, c);
    fputs("<div class=\"curves\">\n", out);
    for (size_t k = 0; k < c->n_names; k++) {
        char id[40];

        snprintf(id, sizeof id, "metric-%zu", k + 1);
        overlay_write(out, &(struct overlay){.metric = name_at(c, k),
                                             .id = id,
                                             .lines = &c->lines[k * c->n_lines],
                                             .n = c->n_lines});
    }
    fputs("</div>\n", out);
    if (names > c->n_names)
        fprintf(out,
                "<p class=\"more\">The first %zu of %zu metrics have a chart.</p>\n",
                c->n_names, names);
    if (c->n_runs > c->n_lines)
        fprintf(out, "<p class=\"more\">The first %zu of %zu runs have a line.</p>\n",
                c->n_lines, c->n_runs);
}

static void compared_metrics_write(FILE *out, const struct compared *c)
{
    fputs("<section id=\"metrics\" aria-labelledby=\"metrics-title\">"
          "<h2 id=\"metrics-title\">Metrics</h2>\n",
          out);
    if (c->n_names == 0) {
        fputs("<p>These runs have reported no numbers.</p>\n", out);
    } else {
        compared_curves_write(out, c);
        compared_values_write(out, c);
    }
    fputs("</section>\n", out);
}

/* ---- All of it ---- */

static void compared_commands_write(FILE *out, const struct compared *c)
{
    fputs("<section id=\"commands\" aria-labelledby=\"commands-title\">"
          "<h2 id=\"commands-title\">Next steps</h2>\n"
          "<div class=\"command\"><h3>Look at them in a terminal</h3>"
          "<pre tabindex=\"0\">raytrain-inspect --compare",
          out);
    for (size_t i = 0; i < c->n_runs; i++) {
        fputc(' ', out);
        html_word(out, string_of(run_at(c, i), "path"));
    }
    fputs("</pre></div></section>\n", out);
}

static int compared_body_write(FILE *out, const void *arg, struct error *err)
{
    const struct compared *c = arg;

    (void)err;
    header_write(out, c);
    runs_write(out, c);
    compared_metrics_write(out, c);
    compared_commands_write(out, c);
    return 0;
}

int compare_page(const struct run_list *runs, const char *file, struct error *err)
{
    struct compared c;
    int rc = compared_load(&c, runs, err);

    if (rc == 0)
        rc = document_write(file,
                            &(struct document){.title = compared_title_write,
                                               .body = compared_body_write,
                                               .arg = &c},
                            err);
    compared_clear(&c);
    return rc;
}
