/*
 * curve.c - a figure of one series:
 *
 *   caption    the name, the last value, the lowest and the highest one
 *   chart      labels of the axes as text, which no scaling distorts, around an SVG that
 *              takes the width that there is
 *   numbers    the points as JSON
 */
#include "config.h"

#include "page/curve.h"

#include <math.h>
#include <stdlib.h>

#include "page/axis.h"
#include "page/html.h"

#define WIDTH  1000 /* of the SVG's coordinates, */
#define HEIGHT 400  /* which are stretched to what there is */

#define STARTS_DRAWN 20
#define MEANS        150 /* points of the mean, of a curve with more points than its room */

struct frame {
    struct axis x, y;
};

struct lines {
    struct point_list all, means; /* no means: `all` has every report */
    struct point_list old;        /* replaced; a point without a value ends a stretch */
};

static void lines_clear(struct lines *l)
{
    free(l->all.points);
    free(l->means.points);
    free(l->old.points);
}

static double x_of(const struct frame *f, double iteration)
{
    return axis_place(&f->x, iteration) * WIDTH;
}

static double y_of(const struct frame *f, double value)
{
    return HEIGHT - axis_place(&f->y, value) * HEIGHT;
}

/* ---- Paths ---- */

static void spot(FILE *out, char command, double x, double y)
{
    fprintf(out, "%c%.5g %.5g", command, round(x * 10) / 10, round(y * 10) / 10);
}

static bool is_number(const struct point_list *l, size_t i)
{
    return i < l->n && !isnan(l->points[i].value);
}

/* A line through the points; a point without a value interrupts it. */
static void line_write(FILE *out, const struct frame *f, const char *class,
                       const struct point_list *l)
{
    fprintf(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < l->n; i++)
        if (is_number(l, i))
            spot(out, i > 0 && is_number(l, i - 1) ? 'L' : 'M',
                 x_of(f, l->points[i].iteration), y_of(f, l->points[i].value));
    fputs("\"/>", out);
}

/* What was replaced: lines, and dots of single reports. */
static void old_write(FILE *out, const struct frame *f, const struct point_list *l)
{
    fputs("<path class=\"old\" d=\"", out);
    for (size_t i = 0; i < l->n; i++) {
        bool first = !(i > 0 && is_number(l, i - 1));

        if (!is_number(l, i))
            continue;
        spot(out, first ? 'M' : 'L', x_of(f, l->points[i].iteration),
             y_of(f, l->points[i].value));
        if (first && !is_number(l, i + 1))
            fputs("h0", out);
    }
    fputs("\"/>", out);
}

/* Points that no line shows, and all of them if they are few: lines of no length, which
 * round ends make dots of, whatever the scale. */
static void dots_write(FILE *out, const struct frame *f, const struct point_list *l)
{
    bool few = l->n <= 40, any = false;

    for (size_t i = 0; i < l->n; i++) {
        bool lonely = !(i > 0 && is_number(l, i - 1)) && !is_number(l, i + 1);

        if (!is_number(l, i) || !(few || lonely))
            continue;
        fputs(any ? "" : "<path class=\"dots\" d=\"", out);
        spot(out, 'M', x_of(f, l->points[i].iteration), y_of(f, l->points[i].value));
        fputs("h0", out);
        any = true;
    }
    fputs(any ? "\"/>" : "", out);
}

/* From the least to the largest rank, for each stretch of points with values. */
static void band_write(FILE *out, const struct frame *f, const struct point_list *l)
{
    fputs("<path class=\"band\" d=\"", out);
    for (size_t from = 0, to; from < l->n; from = to + 1) {
        for (to = from; is_number(l, to); to++)
            spot(out, to == from ? 'M' : 'L', x_of(f, l->points[to].iteration),
                 y_of(f, l->points[to].high));
        for (size_t i = to; i-- > from;)
            spot(out, 'L', x_of(f, l->points[i].iteration), y_of(f, l->points[i].low));
        if (to > from)
            fputc('Z', out);
    }
    fputs("\"/>", out);
}

static void grid_write(FILE *out, const struct frame *f)
{
    fputs("<path class=\"grid\" d=\"", out);
    for (size_t i = 0; i < f->y.n; i++) {
        spot(out, 'M', 0, y_of(f, f->y.at[i]));
        fprintf(out, "H%d", WIDTH);
    }
    fputs("\"/>", out);
}

static void starts_write(FILE *out, const struct frame *f, const struct curve *c)
{
    if (c->n_starts == 0 || c->n_starts > STARTS_DRAWN)
        return;
    fputs("<path class=\"start\" d=\"", out);
    for (size_t i = 0; i < c->n_starts; i++) {
        spot(out, 'M', x_of(f, c->starts[i]), 0);
        fprintf(out, "V%d", HEIGHT);
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
        fputs(" \xc2\xb7 <i class=\"key old\"></i>replaced by a later attempt", out);
    fputs("</p></figcaption>\n", out);
}

static void labels_write(FILE *out, const struct frame *f)
{
    fputs("<div class=\"ylabels\" aria-hidden=\"true\">", out);
    for (size_t i = 0; i < f->y.n; i++)
        fprintf(out, "<span style=\"top:%.2f%%\">%s</span>",
                100 - 100 * axis_place(&f->y, f->y.at[i]), f->y.labels[i]);
    fputs("</div><div class=\"xlabels\" aria-hidden=\"true\">", out);
    for (size_t i = 0; i < f->x.n; i++)
        fprintf(out, "<span style=\"left:%.2f%%\">%s</span>",
                100 * axis_place(&f->x, f->x.at[i]), f->x.labels[i]);
    fputs("</div>", out);
}

static void column_write(FILE *out, const char *key, const struct point_list *l,
                         size_t member)
{
    fprintf(out, "\"%s\":[", key);
    for (size_t i = 0; i < l->n; i++) {
        const struct point *p = &l->points[i];
        const double values[] = {p->iteration, p->value, p->low, p->high};

        fputs(i ? "," : "", out);
        html_json_number(out, values[member]);
    }
    fputc(']', out);
}

static void numbers_write(FILE *out, const struct lines *l, bool ranks)
{
    static const char *const keys[] = {"x", "y", "low", "high"};
    static const char *const mean_keys[] = {"mean_x", "mean_y"};
    static const char *const old_keys[] = {"old_x", "old_y"};

    fputs("<script type=\"application/json\">{", out);
    for (size_t k = 0; k < (ranks ? 4 : 2); k++) {
        fputs(k ? "," : "", out);
        column_write(out, keys[k], &l->all, k);
    }
    for (size_t k = 0; l->means.n > 0 && k < 2; k++) {
        fputc(',', out);
        column_write(out, mean_keys[k], &l->means, k);
    }
    for (size_t k = 0; l->old.n > 0 && k < 2; k++) {
        fputc(',', out);
        column_write(out, old_keys[k], &l->old, k);
    }
    fputs("}</script>\n", out);
}

static void chart_write(FILE *out, const struct curve *c, const struct frame *f,
                        const struct series_summary *s, const struct lines *l)
{
    fprintf(out,
            "<div class=\"chart\" style=\"--labels:%zuch\" data-x=\"%.8g %.8g\" "
            "data-y=\"%.8g %.8g\">\n<div class=\"area\">",
            axis_width(&f->y), f->x.low, f->x.high, f->y.low, f->y.high);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-label=\"",
            WIDTH, HEIGHT);
    spoken_write(out, c, s);
    fputs("\">", out);
    grid_write(out, f);
    starts_write(out, f, c);
    if (l->old.n > 0)
        old_write(out, f, &l->old);
    if (s->ranks_differ)
        band_write(out, f, &l->all);
    line_write(out, f, l->means.n > 0 ? "line dense" : "line", &l->all);
    if (l->means.n > 0)
        line_write(out, f, "mean", &l->means);
    dots_write(out, f, &l->all);
    fputs("</svg></div>", out);
    labels_write(out, f);
    fputs("</div>\n", out);
}

/* Is the value so near to the curve that both can be seen? An attempt that has diverged
 * does not flatten the curve of the one that went back. */
static bool is_near(const struct series_summary *s, double value)
{
    double height = s->high > s->low ? s->high - s->low : fabs(s->high);

    return value >= s->low - height && value <= s->high + height;
}

/* Fill lines->old, and frame it: *low, *high and *last become those of all lines. */
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
                      struct lines *lines, struct frame *f, struct error *err)
{
    const struct metrics_table *t = c->series.table;
    double low = s->low, high = s->high;
    double last = (double)t->fields[s->n - 1][0].integer;

    if (series_thin(&c->series, c->room, &lines->all, err) < 0 ||
        (s->numbers > c->room &&
         series_means(&c->series, MEANS, &lines->means, err) < 0) ||
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
    struct frame f;
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
        chart_write(out, c, &f, &s, &lines);
        numbers_write(out, &lines, s.ranks_differ);
        fputs("</figure>\n", out);
    }
    lines_clear(&lines);
    return rc;
}
