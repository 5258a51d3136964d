/*
 * plot_data.c - turn reports into points; find the metrics that a request names;
 * compute the ranges of axes.
 */
#include "config.h"

#include "plot/plot_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot/run_labels.h"
#include "run/metrics.h"
#include "util/argv.h"
#include "util/quote.h"

#define BUCKETS 2048 /* groups of adjacent reports; two points each */

/* ---- A report's values ---- */

/* Where the values of a metric are: in a column of its own, or among the keys that
 * every report has. */
struct source {
    const struct metrics_table *table;
    const struct metric_column *column;
    const struct report_field *field;
    size_t field_at;
    size_t x_at; /* the field of x */
    bool log;
};

static size_t field_find(const char *key)
{
    size_t i = 0;

    while (i < REPORT_FIELDS && strcmp(report_fields[i].key, key) != 0)
        i++;
    return i;
}

static double field_value(const struct metrics_table *t, size_t row, size_t field)
{
    const union report_cell *cell = &t->fields[row][field];

    return report_fields[field].kind == FIELD_DOUBLE ? cell->number
                                                     : (double)cell->integer;
}

static struct plot_point point_at(const struct source *s, size_t row)
{
    struct plot_point p = {field_value(s->table, row, s->x_at), NAN, NAN, NAN};
    const struct metric_column *c = s->column;

    if (s->field) {
        p.mean = p.low = p.high = field_value(s->table, row, s->field_at);
    } else if (c && row < c->n && c->kind == METRIC_NUMBER) {
        p.mean = c->numbers[row].value;
        p.low = c->numbers[row].min;
        p.high = c->numbers[row].max;
    } else if (c && row < c->n && c->kind == METRIC_INT &&
               c->integers[row] != METRIC_INT_MISSING) {
        p.mean = p.low = p.high = (double)c->integers[row];
    }
    if (!isfinite(p.x) || !isfinite(p.mean))
        p.mean = NAN;
    if (!isfinite(p.low) || !isfinite(p.high) || isnan(p.mean))
        p.low = p.high = p.mean;
    return p;
}

/* ---- A curve ---- */

/* A point that a logarithmic axis cannot have is a gap. */
static struct plot_point point_fit(const struct source *s, struct plot_point p,
                                   size_t *left_out)
{
    if (!s->log || isnan(p.mean))
        return p;
    if (p.mean <= 0) {
        ++*left_out;
        p.mean = p.low = p.high = NAN;
    } else if (p.low <= 0) {
        p.low = p.mean;
    }
    return p;
}

/* Append the lowest and the highest of the rows in [from, to), in order; a gap if there
 * are no numbers. */
static void bucket_add(const struct source *s, size_t from, size_t to,
                       struct plot_curve *c, size_t *left_out)
{
    struct plot_point lowest = {.mean = NAN}, highest = {.mean = NAN};
    double low = INFINITY, high = -INFINITY;
    bool rising = true;

    for (size_t i = from; i < to; i++) {
        struct plot_point p = point_fit(s, point_at(s, i), left_out);

        if (isnan(p.mean))
            continue;
        c->last = p.mean;
        low = fmin(low, p.low);
        high = fmax(high, p.high);
        if (isnan(lowest.mean) || p.mean < lowest.mean) {
            lowest = p;
            rising = false;
        }
        if (isnan(highest.mean) || p.mean > highest.mean) {
            highest = p;
            rising = true;
        }
    }
    if (isnan(lowest.mean)) {
        c->points[c->n++] = (struct plot_point){NAN, NAN, NAN, NAN};
        return;
    }
    lowest.low = highest.low = low;
    lowest.high = highest.high = high;
    c->points[c->n++] = rising ? lowest : highest;
    if (to - from > 1 && lowest.x != highest.x)
        c->points[c->n++] = rising ? highest : lowest;
}

static int curve_fill(const struct source *s, struct plot_curve *c, size_t *left_out,
                      struct error *err)
{
    size_t n = s->table->n, buckets = n < 2 * BUCKETS ? n : BUCKETS;

    c->last = NAN;
    c->points = calloc(2 * buckets + 1, sizeof *c->points);
    if (!c->points)
        return error_no_memory(err);
    if (!s->column && !s->field)
        return 0;
    for (size_t b = 0; b < buckets; b++)
        bucket_add(s, (size_t)((double)n * (double)b / (double)buckets),
                   (size_t)((double)n * (double)(b + 1) / (double)buckets), c,
                   left_out);
    return 0;
}

static struct source source_find(const struct plot_data *data,
                                 const struct metrics_table *table, const char *metric)
{
    struct source s = {.table = table, .log = data->log};
    const json_t *at = json_object_get(table->index[METRIC_NUMBER], metric);

    s.x_at = field_find(data->by_time ? "time_total_s" : "training_iteration");
    s.field_at = field_find(metric);
    if (at)
        s.column = &table->columns[json_integer_value(at)];
    else if (s.field_at < REPORT_FIELDS)
        s.field = &report_fields[s.field_at];
    return s;
}

/* ---- Panels ---- */

/* `names`: all metrics that have numbers. */
static int run_load(struct plot_data *data, size_t run, const char *path, json_t *names,
                    struct error *err)
{
    struct metrics_table table = {0};
    int rc = metrics_load_table(path, &table, err);

    for (size_t i = 0; rc == 0 && i < data->n_panels; i++) {
        struct plot_panel *panel = &data->panels[i];
        struct source s = source_find(data, &table, panel->metric);

        panel->curves[run].run = run;
        rc = curve_fill(&s, &panel->curves[run], &panel->left_out, err);
    }
    for (size_t i = 0; rc == 0 && i < table.n_columns; i++)
        if (table.columns[i].kind < METRIC_TEXT &&
            json_object_set_new_nocheck(names, table.columns[i].name, json_null()) < 0)
            rc = error_no_memory(err);
    metrics_table_clear(&table);
    return rc;
}

static void range_extend(double *low, double *high, double value)
{
    if (isnan(value))
        return;
    *low = isnan(*low) ? value : fmin(*low, value);
    *high = isnan(*high) ? value : fmax(*high, value);
}

/* The error for a metric that is in no report, with the metrics that are. */
static int absent_error(const struct plot_panel *panel, json_t *names,
                        struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], *list = NULL, *shown;
    const char *name;
    json_t *ignored;

    if (panel->left_out > 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "--log: the metric %s has no number above 0: leave out --log",
                         quote(panel->metric, quoted));
    json_object_foreach(names, name, ignored)
    {
        char *longer;

        if (list && strlen(list) > 1000)
            break;
        if (asprintf(&longer, "%s%s%s", list ? list : "", list ? ", " : "", name) < 0)
            break;
        free(list);
        list = longer;
    }
    shown = list ? printable_text(list) : NULL;
    error_set(err, RAYTRAIN_ENOTFOUND, "no report has a number for the metric %s%s%s",
              quote(panel->metric, quoted), shown ? "; there are: " : "",
              shown ? shown : "");
    free(shown);
    free(list);
    return -1;
}

static int panel_measure(struct plot_data *data, struct plot_panel *panel,
                         json_t *names, struct error *err)
{
    panel->low = panel->high = NAN;
    for (size_t r = 0; r < data->n_runs; r++)
        for (size_t i = 0; i < panel->curves[r].n; i++) {
            const struct plot_point *p = &panel->curves[r].points[i];

            if (isnan(p->mean))
                continue;
            range_extend(&data->x_low, &data->x_high, p->x);
            range_extend(&panel->low, &panel->high, p->mean);
            if (data->n_runs > 1)
                continue;
            range_extend(&panel->low, &panel->high, p->low);
            range_extend(&panel->low, &panel->high, p->high);
            panel->band = panel->band || p->low < p->high;
        }
    return isnan(panel->low) ? absent_error(panel, names, err) : 0;
}

static int panel_add(struct plot_data *data, const char *name, size_t n)
{
    struct plot_panel *grown =
        reallocarray(data->panels, data->n_panels + 1, sizeof *grown);

    if (!grown)
        return -1;
    data->panels = grown;
    grown[data->n_panels] =
        (struct plot_panel){.metric = strndup(name, n),
                            .curves = calloc(data->n_runs, sizeof *grown->curves)};
    data->n_panels++;
    return grown[data->n_panels - 1].metric && grown[data->n_panels - 1].curves ? 0
                                                                                : -1;
}

/* A metric that is named twice has one panel. */
static int panels_make(struct plot_data *data, const char *metrics, struct error *err)
{
    for (const char *at = metrics; *at;) {
        size_t n = strcspn(at, ","), i = 0;

        while (i < data->n_panels && (strncmp(data->panels[i].metric, at, n) != 0 ||
                                      data->panels[i].metric[n]))
            i++;
        if (n > 0 && i == data->n_panels && panel_add(data, at, n) < 0)
            return error_no_memory(err);
        at += n + (at[n] == ',');
    }
    return 0;
}

int plot_data_load(const struct plot_request *plot, struct plot_data *data,
                   struct error *err)
{
    json_t *names = json_object();
    int rc;

    *data = (struct plot_data){.n_runs = plot->n_runs,
                               .log = plot->log,
                               .by_time = plot->by_time,
                               .x_low = NAN,
                               .x_high = NAN};
    rc = names ? panels_make(data, plot->metrics, err) : error_no_memory(err);
    if (rc == 0)
        rc = run_labels(plot->runs, plot->n_runs, &data->labels, err);
    for (size_t r = 0; rc == 0 && r < plot->n_runs; r++)
        rc = run_load(data, r, plot->runs[r], names, err);
    for (size_t i = 0; rc == 0 && i < data->n_panels; i++)
        rc = panel_measure(data, &data->panels[i], names, err);
    json_decref(names);
    return rc;
}

void plot_data_clear(struct plot_data *data)
{
    for (size_t i = 0; i < data->n_panels; i++) {
        for (size_t r = 0; data->panels[i].curves && r < data->n_runs; r++)
            free(data->panels[i].curves[r].points);
        free(data->panels[i].curves);
        free(data->panels[i].metric);
    }
    free(data->panels);
    argv_free(data->labels);
    *data = (struct plot_data){0};
}
