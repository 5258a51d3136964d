/*
 * plot.c - plot a metric over training iterations as text.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/output.h"
#include "inspect/views.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/quote.h"

#define WIDTH  64
#define HEIGHT 16

struct series {
    double *values; /* NaN: none */
    size_t n, n_numbers;
    double first, last; /* iterations */
    double low, high;
};

static int series_take(const json_t *reports, const char *metric, struct series *s)
{
    json_t *report;
    size_t i;

    s->n = json_array_size(reports);
    s->values = calloc(s->n + 1, sizeof *s->values);
    if (!s->values)
        return -1;
    json_array_foreach((json_t *)reports, i, report)
    {
        json_t *value = json_object_get(report, metric);
        double number = json_is_number(value) ? json_number_value(value) : NAN;

        s->values[i] = number;
        s->last = json_number_value(json_object_get(report, "training_iteration"));
        if (i == 0)
            s->first = s->last;
        if (isnan(number))
            continue;
        s->low = s->n_numbers && s->low < number ? s->low : number;
        s->high = s->n_numbers && s->high > number ? s->high : number;
        s->n_numbers++;
    }
    return 0;
}

/* The mean of the numbers in a column; NaN if there are none. */
static double column_mean(const struct series *s, size_t column, size_t columns)
{
    size_t from = s->n * column / columns, to = s->n * (column + 1) / columns, n = 0;
    double sum = 0;

    for (size_t i = from; i < to; i++) {
        if (isnan(s->values[i]))
            continue;
        sum += s->values[i];
        n++;
    }
    return n ? sum / (double)n : NAN;
}

static void series_draw(FILE *out, const char *metric, const struct series *s)
{
    size_t columns = s->n < WIDTH ? s->n : WIDTH;
    double span = s->high > s->low ? s->high - s->low : 1;
    char rows[HEIGHT][WIDTH + 1];

    memset(rows, ' ', sizeof rows);
    for (size_t c = 0; c < columns; c++) {
        double mean = column_mean(s, c, columns);

        if (!isnan(mean))
            rows[HEIGHT - 1 - (int)((mean - s->low) / span * (HEIGHT - 1) + 0.5)][c] =
                '*';
    }
    output_text(out, metric);
    fprintf(out, " (mean over workers)\n");
    for (int r = 0; r < HEIGHT; r++) {
        double at = s->low + span * (HEIGHT - 1 - r) / (HEIGHT - 1);

        if (r % 5 == 0)
            fprintf(out, "%11.4g |%.*s\n", at, (int)columns, rows[r]);
        else
            fprintf(out, "%11s |%.*s\n", "", (int)columns, rows[r]);
    }
    fprintf(out, "%11s +", "");
    for (size_t c = 0; c < columns; c++)
        fputc('-', out);
    fprintf(out, "\n%13straining_iteration %.0f to %.0f\n", "", s->first, s->last);
}

/* List the available metrics, for the message. */
static int absent_error(const json_t *reports, const char *metric, struct error *err)
{
    json_t *last = json_array_get(reports, json_array_size(reports) - 1), *ignored;
    char quoted[QUOTE_TEXT_MAX], names[512] = "";
    const char *name;

    json_object_foreach(json_object_get(last, "by_rank"), name, ignored)
    {
        if (strlen(names) + strlen(name) + 3 > sizeof names)
            break;
        strcat(strcat(names, *names ? ", " : ""), name);
    }
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "no report has a number for the metric %s%s%s",
                     quote(metric, quoted), *names ? "; there are: " : "", names);
}

int inspect_plot(FILE *out, const char *run, const char *metric, struct error *err)
{
    struct series s = {0};
    json_t *reports = NULL;
    int rc = metrics_load(run, &reports, err);

    if (rc == 0 && series_take(reports, metric, &s) < 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    if (rc == 0 && s.n_numbers == 0)
        rc = absent_error(reports, metric, err);
    if (rc == 0)
        series_draw(out, metric, &s);
    free(s.values);
    json_decref(reports);
    return rc;
}
