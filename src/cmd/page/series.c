/* series.c - collect values by report, and reduce them to the lowest and highest of
 * each stretch. */
#include "config.h"

#include "page/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_ITERATION = 0 };

size_t series_field(const char *key)
{
    for (size_t i = 0; i < REPORT_FIELDS; i++)
        if (strcmp(report_fields[i].key, key) == 0)
            return i;
    return 0;
}

bool series_has_numbers(const struct metric_column *c)
{
    return c->kind == METRIC_NUMBER || c->kind == METRIC_INT;
}

static struct metric_number column_number(const struct metric_column *c, size_t i)
{
    struct metric_number none = {NAN, NAN, NAN, NAN, NAN};
    double value;

    if (i >= c->n || !series_has_numbers(c))
        return none;
    if (c->kind == METRIC_NUMBER)
        return c->numbers[i];
    if (c->integers[i] == METRIC_INT_MISSING)
        return none;
    value = (double)c->integers[i];
    return (struct metric_number){value, value, value, value, value};
}

struct point series_point(const struct series *s, size_t i)
{
    double iteration = (double)s->table->fields[i][FIELD_ITERATION].integer;
    struct metric_number v;
    double seconds;

    if (s->column) {
        v = column_number(s->column, i);
        if (!isfinite(v.value))
            v.value = NAN;
        if (!isfinite(v.value) || !isfinite(v.min) || !isfinite(v.max))
            v.min = v.max = v.value;
        return (struct point){iteration, v.value, v.min, v.max};
    }
    seconds = s->table->fields[i][s->field].number;
    if (!isfinite(seconds))
        seconds = NAN;
    return (struct point){iteration, seconds, seconds, seconds};
}

void series_summarize(const struct series *s, struct series_summary *sum)
{
    *sum = (struct series_summary){.n = s->table->n};
    for (size_t i = 0; i < s->table->n; i++) {
        struct point p = series_point(s, i);

        if (isnan(p.value))
            continue;
        if (sum->numbers++ == 0) {
            sum->first = sum->lowest = sum->highest = p;
            sum->low = p.low;
            sum->high = p.high;
        }
        sum->last = p;
        if (p.value < sum->lowest.value)
            sum->lowest = p;
        if (p.value > sum->highest.value)
            sum->highest = p;
        sum->low = fmin(sum->low, p.low);
        sum->high = fmax(sum->high, p.high);
        sum->sum += p.value;
        sum->ranks_differ = sum->ranks_differ || p.low < p.high;
    }
}

/* ---- Few points ---- */

/* The reports of one stretch that are kept: its first, lowest, highest and last. */
struct stretch {
    size_t n, first, last, least, largest; /* n: with a number */
};

static void stretch_add(struct stretch *b, const struct series *s, size_t i)
{
    struct point p = series_point(s, i);

    if (isnan(p.value))
        return;
    if (b->n++ == 0)
        b->first = b->least = b->largest = i;
    b->last = i;
    if (p.value < series_point(s, b->least).value)
        b->least = i;
    if (p.value > series_point(s, b->largest).value)
        b->largest = i;
}

/* The stretch's points in their order, each once; if it has no number, one point
 * without a value. */
static void stretch_take(const struct stretch *b, const struct series *s, size_t from,
                         struct point_list *out)
{
    bool up = b->least <= b->largest;
    size_t at[4] = {b->first, up ? b->least : b->largest, up ? b->largest : b->least,
                    b->last};

    if (b->n == 0) {
        if (!s->sparse)
            out->points[out->n++] = series_point(s, from);
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        if (i == 0 || at[i] != at[i - 1])
            out->points[out->n++] = series_point(s, at[i]);
    }
}

int series_thin_from(const struct series *s, size_t first, size_t room,
                     struct point_list *out, struct error *err)
{
    size_t n = s->table->n - first, stretches = room < 4 ? 1 : room / 4;
    size_t numbers = 0;

    for (size_t i = first; s->sparse && i < s->table->n; i++)
        numbers += !isnan(series_point(s, i).value);
    if ((s->sparse ? numbers : n) <= room)
        stretches = n;
    *out =
        (struct point_list){.points = calloc((n <= stretches ? n : 4 * stretches) + 4,
                                             sizeof *out->points)};
    if (!out->points)
        return error_no_memory(err);
    for (size_t k = 0; k < stretches; k++) {
        size_t from = (size_t)((double)n * (double)k / (double)stretches);
        size_t to = (size_t)((double)n * (double)(k + 1) / (double)stretches);
        struct stretch b = {0};

        for (size_t i = from; i < to && i < n; i++)
            stretch_add(&b, s, first + i);
        if (from < n && to > from)
            stretch_take(&b, s, first + from, out);
    }
    return 0;
}

int series_thin(const struct series *s, size_t room, struct point_list *out,
                struct error *err)
{
    return series_thin_from(s, 0, room, out, err);
}

int series_means(const struct series *s, size_t room, struct point_list *out,
                 struct error *err)
{
    size_t n = s->table->n;

    *out = (struct point_list){.points = calloc(room + 1, sizeof *out->points)};
    if (!out->points)
        return error_no_memory(err);
    for (size_t k = 0; k < room; k++) {
        size_t from = n / room * k + n % room * k / room;
        size_t to = n / room * (k + 1) + n % room * (k + 1) / room, numbers = 0;
        double sum = 0, at = 0;

        for (size_t i = from; i < to; i++) {
            struct point p = series_point(s, i);

            if (isnan(p.value))
                continue;
            sum += p.value;
            at += p.iteration;
            numbers++;
        }
        if (numbers > 0 && isfinite(sum))
            out->points[out->n++] =
                (struct point){.iteration = round(at / (double)numbers),
                               .value = sum / (double)numbers};
    }
    return 0;
}
