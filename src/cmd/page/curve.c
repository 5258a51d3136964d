/*
 * curve.c - a figure of one series:
 *
 *   caption    the name, the last value, the lowest and the highest one
 *   chart      the line between its axes
 *   numbers    the points as JSON
 */
#include "config.h"

#include "page/curve.h"

#include <math.h>
#include <stdlib.h>

#include "page/chart.h"
#include "page/html.h"

#define STARTS_DRAWN 20
#define DOTS_MOST    40 /* up to this many points are drawn as dots, as in page.js */

struct lines {
    struct point_list all, means; /* no means: `all` has every report */
    /* replaced reports; a point without a value ends a stretch */
    struct point_list old;
};

static void lines_clear(struct lines *l)
{
    free(l->all.points);
    free(l->means.points);
    free(l->old.points);
}

/* ---- Paths ---- */

/* The replaced reports: lines, and dots for single ones. */
static void old_write(FILE *out, const struct chart *f, const struct point_list *l)
{
    fputs("<path class=\"old\" d=\"", out);
    for (size_t i = 0; i < l->n; i++) {
        bool first = !(i > 0 && chart_is_number(l, i - 1));

        if (!chart_is_number(l, i))
            continue;
        chart_spot(out, first ? 'M' : 'L', chart_x(f, l->points[i].iteration),
                   chart_y(f, l->points[i].value));
        if (first && !chart_is_number(l, i + 1))
            fputs("h0", out);
    }
    fputs("\"/>", out);
}

/* The area from the lowest to the highest rank, for each stretch of points with
 * values. */
static void band_write(FILE *out, const struct chart *f, const struct point_list *l)
{
    fputs("<path class=\"band\" d=\"", out);
    for (size_t from = 0, to; from < l->n; from = to + 1) {
        for (to = from; chart_is_number(l, to); to++)
            chart_spot(out, to == from ? 'M' : 'L', chart_x(f, l->points[to].iteration),
                       chart_y(f, l->points[to].high));
        for (size_t i = to; i-- > from;)
            chart_spot(out, 'L', chart_x(f, l->points[i].iteration),
                       chart_y(f, l->points[i].low));
        if (to > from)
            fputc('Z', out);
    }
    fputs("\"/>", out);
}

static void starts_write(FILE *out, const struct chart *f, const struct curve *c)
{
    if (c->n_starts == 0 || c->n_starts > STARTS_DRAWN)
        return;
    fputs("<path class=\"start\" d=\"", out);
    for (size_t i = 0; i < c->n_starts; i++) {
        chart_spot(out, 'M', chart_x(f, c->starts[i]), 0);
        fprintf(out, "V%d", CHART_HEIGHT);
    }
    fputs("\"/>", out);
}

/* ---- The figure ---- */

static const char *value_text(const struct curve *c, double value,
                              char text[HTML_NUMBER_MAX])
{
    return *c->unit ? duration_text(value, text) : figure_text(value, text);
}

static void spoken_write(FILE *out, const struct curve *c,
                         const struct series_summary *s)
{
    char a[HTML_NUMBER_MAX], b[HTML_NUMBER_MAX];

    html_text(out, c->name);
    fprintf(out, " over %s reports", count_text((int64_t)s->n, a));
    fprintf(out, ": from %s at iteration %.0f", value_text(c, s->first.value, a),
            s->first.iteration);
    fprintf(out, " to %s at iteration %.0f; lowest %s", value_text(c, s->last.value, a),
            s->last.iteration, value_text(c, s->lowest.value, b));
    fprintf(out, ", highest %s", value_text(c, s->highest.value, a));
}

static void caption_write(FILE *out, const struct curve *c,
                          const struct series_summary *s, bool old)
{
    char value[HTML_NUMBER_MAX], at[HTML_NUMBER_MAX];

    fputs("<figcaption><h3>", out);
    html_text(out, c->name);
    fprintf(out, "</h3><p class=\"read\"><b>%s</b> <span>at ",
            value_text(c, s->last.value, value));
    fprintf(out, "%s</span></p>", count_text((int64_t)s->last.iteration, at));
    fprintf(out, "<p class=\"range\">lowest %s at %s",
            value_text(c, s->lowest.value, value),
            count_text((int64_t)s->lowest.iteration, at));
    fprintf(out, " \xc2\xb7 highest %s", value_text(c, s->highest.value, value));
    fprintf(out, " at %s", count_text((int64_t)s->highest.iteration, at));
    if (s->numbers < s->n && !c->series.sparse)
        fprintf(out, " \xc2\xb7 %s without a number",
                count_text((int64_t)(s->n - s->numbers), value));
    if (old)
        fputs(" \xc2\xb7 <span><i class=\"key old\"></i>replaced by a later attempt"
              "</span>",
              out);
    fputs("</p></figcaption>\n", out);
}

static void curve_numbers_write(FILE *out, const struct lines *l, bool ranks)
{
    static const char *const keys[] = {"x", "y", "low", "high"};
    static const char *const mean_keys[] = {"mean_x", "mean_y"};
    static const char *const old_keys[] = {"old_x", "old_y"};

    fputs("<script type=\"application/json\">{", out);
    for (size_t k = 0; k < (ranks ? 4 : 2); k++) {
        fputs(k ? "," : "", out);
        chart_column(out, keys[k], &l->all, k);
    }
    for (size_t k = 0; l->means.n > 0 && k < 2; k++) {
        fputc(',', out);
        chart_column(out, mean_keys[k], &l->means, k);
    }
    for (size_t k = 0; l->old.n > 0 && k < 2; k++) {
        fputc(',', out);
        chart_column(out, old_keys[k], &l->old, k);
    }
    fputs("}</script>\n", out);
}

static void curve_chart_write(FILE *out, const struct curve *c, const struct chart *f,
                              const struct series_summary *s, const struct lines *l)
{
    chart_begin(out, f);
    spoken_write(out, c, s);
    fputs("\">", out);
    chart_grid(out, f);
    starts_write(out, f, c);
    if (l->old.n > 0)
        old_write(out, f, &l->old);
    if (s->ranks_differ)
        band_write(out, f, &l->all);
    chart_line(out, f, l->means.n > 0 ? "line dense" : "line", &l->all);
    if (l->means.n > 0)
        chart_line(out, f, "mean", &l->means);
    chart_dots(out, f, "dots", &l->all, DOTS_MOST);
    chart_end(out, f);
}

/* Is the value near enough to the curve for both to be visible? An attempt that has
 * diverged must not flatten the curve of the attempt that replaced it. */
static bool is_near(const struct series_summary *s, double value)
{
    double height = s->high > s->low ? s->high - s->low : fabs(s->high);

    return value >= s->low - height && value <= s->high + height;
}

/* Fill lines->old, and extend *low, *high and *last to all lines. */
static int old_take(const struct curve *c, const struct series_summary *s,
                    struct lines *lines, double *low, double *high, double *last,
                    struct error *err)
{
    struct point_list *old = &lines->old;
    size_t shown = 0;

    if (!c->superseded || c->superseded->n == 0)
        return 0;
    if (superseded_points(c->superseded, c->number, c->room / 4, old, err) < 0)
        return -1;
    for (size_t i = 0; i < old->n; i++) {
        struct point *p = &old->points[i];

        if (!is_near(s, p->value))
            p->value = NAN;
        if (isnan(p->value))
            continue;
        shown++;
        *low = fmin(*low, p->value);
        *high = fmax(*high, p->value);
        *last = fmax(*last, p->iteration);
    }
    old->n = shown > 0 ? old->n : 0;
    return 0;
}

static int lines_take(const struct curve *c, const struct series_summary *s,
                      struct lines *lines, struct chart *f, struct error *err)
{
    const struct metrics_table *t = c->series.table;
    double low = s->low, high = s->high;
    double last = (double)t->fields[s->n - 1][0].integer;

    if (series_thin(&c->series, c->room, &lines->all, err) < 0 ||
        (s->numbers > c->room &&
         series_means(&c->series, CHART_MEANS, &lines->means, err) < 0) ||
        old_take(c, s, lines, &low, &high, &last, err) < 0)
        return -1;
    axis_of_iterations((double)t->fields[0][0].integer, last, 5, &f->x);
    axis_of_numbers(low, high, 4, 1, &f->y);
    return 0;
}

int curve_write(FILE *out, const struct curve *c, struct error *err)
{
    struct lines lines = {0};
    struct series_summary s;
    struct chart f;
    int rc;

    series_summarize(&c->series, &s);
    if (s.numbers == 0)
        return 0;
    rc = lines_take(c, &s, &lines, &f, err);
    if (rc == 0) {
        fprintf(out, "<figure class=\"curve\" id=\"%s\" data-unit=\"%s\" data-name=\"",
                c->id, c->unit);
        html_text(out, c->name);
        fputs("\">\n", out);
        caption_write(out, c, &s, lines.old.n > 0);
        curve_chart_write(out, c, &f, &s, &lines);
        curve_numbers_write(out, &lines, s.ranks_differ);
        fputs("</figure>\n", out);
    }
    lines_clear(&lines);
    return rc;
}
