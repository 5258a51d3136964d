/*
 * overlay.c - a figure of one metric:
 *
 *   caption    the name, and what the values below are
 *   chart      a line for each run between the axes of all
 *   values     the runs with the keys of their lines; page.js shows there the values at
 *              the pointer
 *   numbers    the points of each run as JSON
 */
#include "config.h"

#include "page/overlay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/chart.h"
#include "page/html.h"
#include "util/quote.h"

#define NAME_TAIL 9 /* bytes at the end of a name that are always shown */
#define COLOURS   8 /* of page.css, --line of .run-0 to .run-7 */

int overlay_line_take(struct overlay_line *line, const struct series *s, size_t room,
                      struct error *err)
{
    size_t means = room / 2 < CHART_MEANS ? room / 2 : CHART_MEANS;

    series_summarize(s, &line->sum);
    if (line->sum.numbers == 0)
        return 0;
    if (series_thin(s, room, &line->all, err) < 0)
        return -1;
    return line->sum.numbers > room && means > 1
               ? series_means(s, means, &line->means, err)
               : 0;
}

void overlay_line_clear(struct overlay_line *line)
{
    free(line->all.points);
    free(line->means.points);
}

/* ---- Lines ---- */

static void class_format(char class[64], const char *what, size_t run)
{
    snprintf(class, 64, "%s run-%zu dash-%zu", what, run % COLOURS, run / COLOURS);
}

void overlay_key(FILE *out, size_t run)
{
    char class[64];

    class_format(class, "key run", run);
    fprintf(out, "<i class=\"%s\"></i>", class);
}

static void line_write(FILE *out, const struct chart *f, const struct overlay_line *l,
                       size_t run)
{
    bool thinned = l->means.n > 0;
    char class[64];

    class_format(class, thinned ? "line dense" : "line", run);
    chart_line(out, f, class, &l->all);
    class_format(class, "mean", run);
    if (thinned)
        chart_line(out, f, class, &l->means);
    class_format(class, "dots", run);
    chart_dots(out, f, class, &l->all, 0);
}

/* ---- The figure ---- */

static bool chart_frame(const struct overlay *o, struct chart *f)
{
    double low = INFINITY, high = -INFINITY, first = INFINITY, last = -INFINITY;

    for (size_t i = 0; i < o->n; i++) {
        const struct series_summary *s = &o->lines[i].sum;

        if (s->numbers == 0)
            continue;
        low = fmin(low, s->lowest.value);
        high = fmax(high, s->highest.value);
        first = fmin(first, s->first.iteration);
        last = fmax(last, s->last.iteration);
    }
    if (low > high)
        return false;
    axis_of_iterations(first, last, 5, &f->x);
    axis_of_numbers(low, high, 4, 1, &f->y);
    return true;
}

static void overlay_spoken_write(FILE *out, const struct overlay *o)
{
    char text[HTML_NUMBER_MAX];
    const char *between = ": ";

    html_text(out, o->metric);
    for (size_t i = 0; i < o->n; i++) {
        const struct series_summary *s = &o->lines[i].sum;

        if (s->numbers == 0)
            continue;
        fputs(between, out);
        between = "; ";
        html_text(out, o->lines[i].name);
        fprintf(out, " %s", figure_text(s->last.value, text));
        fprintf(out, " at iteration %.0f", s->last.iteration);
    }
}

static void overlay_chart_write(FILE *out, const struct overlay *o,
                                const struct chart *f)
{
    chart_begin(out, f);
    overlay_spoken_write(out, o);
    fputs("\">", out);
    chart_grid(out, f);
    for (size_t i = 0; i < o->n; i++)
        if (o->lines[i].sum.numbers > 0)
            line_write(out, f, &o->lines[i], i);
    chart_end(out, f);
}

/* In two parts; the first is cut if there is not enough space. */
static void name_write(FILE *out, const char *name)
{
    size_t n = strlen(name), tail = n > NAME_TAIL ? utf8_cut(name, n - NAME_TAIL) : n;
    char *head = strndup(name, tail);

    fputs("<span>", out);
    html_text(out, head ? head : "?");
    fputs("</span><span>", out);
    html_text(out, name + tail);
    fputs("</span>", out);
    free(head);
}

static void overlay_values_write(FILE *out, const struct overlay *o)
{
    char text[HTML_NUMBER_MAX];

    fputs("<dl class=\"values\">", out);
    for (size_t i = 0; i < o->n; i++) {
        const struct series_summary *s = &o->lines[i].sum;

        fprintf(out, "<div data-run=\"%zu\"><dt title=\"", i);
        html_text(out, o->lines[i].name);
        fputs("\">", out);
        overlay_key(out, i);
        name_write(out, o->lines[i].name);
        fprintf(out, "</dt><dd>%s</dd></div>\n",
                s->numbers ? figure_text(s->last.value, text) : "not reported");
    }
    fputs("</dl>\n", out);
}

static void overlay_numbers_write(FILE *out, const struct overlay *o)
{
    const char *between = "";

    fputs("<script type=\"application/json\">{\"runs\":[", out);
    for (size_t i = 0; i < o->n; i++) {
        const struct overlay_line *l = &o->lines[i];

        if (l->sum.numbers == 0)
            continue;
        fprintf(out, "%s{\"run\":%zu,", between, i);
        between = ",\n";
        chart_column(out, "x", &l->all, 0);
        fputc(',', out);
        chart_column(out, "y", &l->all, 1);
        if (l->means.n > 0) {
            fputc(',', out);
            chart_column(out, "mean_x", &l->means, 0);
            fputc(',', out);
            chart_column(out, "mean_y", &l->means, 1);
        }
        fputc('}', out);
    }
    fputs("]}</script>\n", out);
}

bool overlay_write(FILE *out, const struct overlay *o)
{
    struct chart f;

    if (!chart_frame(o, &f))
        return false;
    fprintf(out,
            "<figure class=\"curve overlay\" id=\"%s\" data-unit=\"\" data-name=\"",
            o->id);
    html_text(out, o->metric);
    fputs("\">\n<figcaption><h3>", out);
    html_text(out, o->metric);
    fputs("</h3><p class=\"read\">last value of each run</p></figcaption>\n", out);
    overlay_chart_write(out, o, &f);
    overlay_values_write(out, o);
    overlay_numbers_write(out, o);
    fputs("</figure>\n", out);
    return true;
}
