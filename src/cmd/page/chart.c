/* chart.c - axes around an SVG, with labels as HTML text, which stretching the SVG does
 * not distort. */
#include "config.h"

#include "page/chart.h"

#include <math.h>

#include "page/html.h"

double chart_x(const struct chart *f, double iteration)
{
    return axis_place(&f->x, iteration) * CHART_WIDTH;
}

double chart_y(const struct chart *f, double value)
{
    return CHART_HEIGHT - axis_place(&f->y, value) * CHART_HEIGHT;
}

/* ---- Paths ---- */

void chart_spot(FILE *out, char command, double x, double y)
{
    fprintf(out, "%c%.5g %.5g", command, round(x * 10) / 10, round(y * 10) / 10);
}

bool chart_is_number(const struct point_list *l, size_t i)
{
    return i < l->n && !isnan(l->points[i].value);
}

/* A line through the points; a point without a value interrupts it. */
void chart_line(FILE *out, const struct chart *f, const char *class,
                const struct point_list *l)
{
    fprintf(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < l->n; i++)
        if (chart_is_number(l, i))
            chart_spot(out, i > 0 && chart_is_number(l, i - 1) ? 'L' : 'M',
                       chart_x(f, l->points[i].iteration),
                       chart_y(f, l->points[i].value));
    fputs("\"/>", out);
}

/* Isolated points, and all points if they are few: lines of length zero, which round
 * ends turn into dots at any scale. */
void chart_dots(FILE *out, const struct chart *f, const char *class,
                const struct point_list *l, size_t most)
{
    bool few = l->n <= most, any = false;

    for (size_t i = 0; i < l->n; i++) {
        bool lonely =
            !(i > 0 && chart_is_number(l, i - 1)) && !chart_is_number(l, i + 1);

        if (!chart_is_number(l, i) || !(few || lonely))
            continue;
        if (!any)
            fprintf(out, "<path class=\"%s\" d=\"", class);
        chart_spot(out, 'M', chart_x(f, l->points[i].iteration),
                   chart_y(f, l->points[i].value));
        fputs("h0", out);
        any = true;
    }
    fputs(any ? "\"/>" : "", out);
}

void chart_grid(FILE *out, const struct chart *f)
{
    fputs("<path class=\"grid\" d=\"", out);
    for (size_t i = 0; i < f->y.n; i++) {
        chart_spot(out, 'M', 0, chart_y(f, f->y.at[i]));
        fprintf(out, "H%d", CHART_WIDTH);
    }
    fputs("\"/>", out);
}

/* ---- The chart ---- */

void chart_begin(FILE *out, const struct chart *f)
{
    fprintf(out,
            "<div class=\"chart\" style=\"--labels:%zuch\" data-x=\"%.8g %.8g\" "
            "data-y=\"%.8g %.8g\">\n<div class=\"area\">",
            axis_width(&f->y), f->x.low, f->x.high, f->y.low, f->y.high);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-label=\"",
            CHART_WIDTH, CHART_HEIGHT);
}

static void labels_write(FILE *out, const struct chart *f)
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

void chart_end(FILE *out, const struct chart *f)
{
    fputs("</svg></div>", out);
    labels_write(out, f);
    fputs("</div>\n", out);
}

/* ---- Numbers ---- */

void chart_column(FILE *out, const char *key, const struct point_list *l, size_t member)
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
