/* tables.c - the tables of attempts, checkpoints and nodes. */
#include "config.h"

#include "page/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/output.h"
#include "page/grid.h"
#include "page/html.h"
#include "util/hostlist.h"
#include "util/size.h"

#define ATTEMPTS_SHOWN    100 /* the newest */
#define CHECKPOINTS_SHOWN 50  /* the newest */
#define NODES_SHOWN       64

static void section_head_write(FILE *out, const char *id, const char *title)
{
    fprintf(out,
            "<section id=\"%s\" aria-labelledby=\"%s-title\"><h2 id=\"%s-title\">%s"
            "</h2>\n",
            id, id, id, title);
}

static const char *count_or_dash(const json_t *object, const char *key,
                                 char text[HTML_NUMBER_MAX])
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? count_text(json_integer_value(value), text)
                                  : "\xe2\x80\x93";
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- Attempts ---- */

static void where_cell(struct grid *g, const json_t *a)
{
    const json_t *nodes = json_object_get(a, "nodes");
    size_t n = json_array_size(nodes);
    const char *names[NODES_SHOWN];
    char *text = NULL, count[HTML_NUMBER_MAX];

    for (size_t i = 0; i < n && i < NODES_SHOWN; i++)
        names[i] = string_of(json_array_get(nodes, i), "name");
    if (n > 0 && n <= NODES_SHOWN)
        hostlist_compress((char *const *)names, n, &text, NULL);
    grid_cell(g);
    fprintf(g->out, "%s", count_or_dash(a, "workers", count));
    if (n > 0) {
        fputs(" on ", g->out);
        if (text)
            html_text(g->out, text);
        else
            fprintf(g->out, "%s nodes", count_text((int64_t)n, count));
    }
    free(text);
}

static void changes_write(FILE *out, const json_t *changes)
{
    const char *key;
    json_t *c;

    json_object_foreach((json_t *)(uintptr_t)changes, key, c)
    {
        const char *before = string_of(c, "before"), *now = string_of(c, "now");

        fputs("<br>changed <code>", out);
        html_text(out, key);
        fputs("</code>: ", out);
        html_text(out, *before ? before : "not set");
        fputs(" \xe2\x86\x92 ", out);
        html_text(out, *now ? now : "not set");
    }
}

static void outcome_cell(struct grid *g, const json_t *a)
{
    const char *cause = string_of(a, "cause");

    grid_cell(g);
    fputs("<span class=\"outcome\" data-outcome=\"", g->out);
    html_text(g->out, string_of(a, "outcome"));
    fputs("\">", g->out);
    html_text(g->out, string_of(a, "outcome"));
    fputs("</span>", g->out);
    if (*cause && strcmp(cause, "worker") != 0) {
        fputs(" (", g->out);
        for (const char *c = cause; *c; c++)
            html_text(g->out, *c == '_' ? " " : (char[]){*c, '\0'});
        fputs(")", g->out);
    }
}

static void attempt_row(struct grid *g, const struct facts *f, const json_t *a)
{
    char text[HTML_NUMBER_MAX];
    double start, end, lost = facts_number(a, "lost_seconds");
    const char *from = string_of(a, "checkpoint");

    grid_text(g, count_or_dash(a, "attempt", text));
    outcome_cell(g, a);
    where_cell(g, a);
    grid_cell(g);
    if (facts_times(f, a, &start, &end))
        html_date(g->out, start);
    else
        fputs("\xe2\x80\x93", g->out);
    grid_text(g, duration_text(start > 0 ? end - start : NAN, text));
    grid_text(g, count_or_dash(a, "reports", text));
    grid_text(g, count_or_dash(a, "iteration", text));
    grid_cell(g);
    fputs(count_or_dash(a, "lost_iterations", text), g->out);
    if (lost > 0)
        fprintf(g->out, " (%s)", duration_text(lost, text));
    grid_cell(g);
    html_text(g->out, *from ? base_of(from) : "the beginning");
    changes_write(g->out, json_object_get(a, "config_changes"));
}

void attempts_write(FILE *out, const struct facts *f)
{
    static const char *const titles[] = {"#Attempt",   "Outcome",   "Workers",
                                         "Started",    "#Duration", "#Reports",
                                         "#Iteration", "#Lost",     "Started from"};
    size_t n = json_array_size(f->attempts);
    size_t first = n > ATTEMPTS_SHOWN ? n - ATTEMPTS_SHOWN : 0;
    struct grid g;

    if (n == 0)
        return;
    grid_begin(
        &g, out,
        "Each start of all workers. Lost: iterations that were done again, or will be",
        titles, sizeof titles / sizeof *titles);
    for (size_t i = first; i < n; i++)
        attempt_row(&g, f, json_array_get(f->attempts, i));
    grid_end(&g, first);
}

/* ---- Checkpoints ---- */

/* The directory that Python has made of the checkpoint's files. */
static void directory_write(FILE *out, const json_t *c)
{
    const char *path = string_of(c, "directory");
    char size[SIZE_TEXT_MAX];

    if (!*path)
        return;
    fputs("files in <code>", out);
    html_text(out, base_of(path));
    fprintf(out, "/</code> (%s) ",
            size_format((uint64_t)integer_of(c, "directory_bytes"), size));
}

static void checkpoint_row(struct grid *g, const struct facts *f, const json_t *c)
{
    const char *path = string_of(c, "path"), *why = string_of(c, "error");
    char text[HTML_NUMBER_MAX], size[SIZE_TEXT_MAX];

    grid_cell(g);
    fputs("<code>", g->out);
    html_text(g->out, base_of(path));
    fputs("</code>", g->out);
    grid_text(g, count_or_dash(c, "training_iteration", text));
    grid_cell(g);
    html_date(g->out, facts_number(c, "timestamp"));
    grid_text(g, json_object_get(c, "bytes")
                     ? size_format((uint64_t)integer_of(c, "bytes"), size)
                     : "\xe2\x80\x93");
    grid_cell(g);
    if (strcmp(path, string_of(f->run, "best_checkpoint")) == 0)
        fputs("<b>best</b> ", g->out);
    if (strcmp(path, string_of(f->run, "checkpoint")) == 0)
        fputs("newest ", g->out);
    directory_write(g->out, c);
    if (*why) {
        fputs("<b class=\"bad\">damaged</b>: ", g->out);
        html_text(g->out, why);
    }
}

void checkpoints_write(FILE *out, const struct facts *f)
{
    static const char *const titles[] = {"File", "#Iteration", "Saved", "#Size",
                                         "Note"};
    size_t n = json_array_size(f->checkpoints);
    size_t first = n > CHECKPOINTS_SHOWN ? n - CHECKPOINTS_SHOWN : 0;
    struct grid g;

    if (n == 0)
        return;
    section_head_write(out, "checkpoints", "Checkpoints");
    grid_begin(&g, out, "Checkpoints that were kept, the newest first", titles,
               sizeof titles / sizeof *titles);
    for (size_t i = n; i-- > first;)
        checkpoint_row(&g, f, json_array_get(f->checkpoints, i));
    grid_end(&g, first);
    fputs("</section>\n", out);
}

/* ---- Nodes ---- */

void nodes_write(FILE *out, const struct facts *f)
{
    static const char *const titles[] = {"Node", "#Workers"};
    size_t attempts = json_array_size(f->attempts), n, i;
    const json_t *last = attempts ? json_array_get(f->attempts, attempts - 1) : NULL;
    const json_t *nodes = json_object_get(last, "nodes");
    char text[HTML_NUMBER_MAX], caption[100];
    struct grid g;

    n = json_array_size(nodes);
    if (n == 0)
        return;
    section_head_write(out, "nodes", "Nodes");
    snprintf(caption, sizeof caption, "Nodes of %s %lld",
             attempts > 1 ? "the last attempt," : "attempt",
             (long long)integer_of(last, "attempt"));
    grid_begin(&g, out, caption, titles, 2);
    for (i = 0; i < n && i < NODES_SHOWN; i++) {
        grid_text(&g, string_of(json_array_get(nodes, i), "name"));
        grid_text(&g, count_or_dash(json_array_get(nodes, i), "tasks", text));
    }
    grid_end(&g, n - i);
    fputs("</section>\n", out);
}
