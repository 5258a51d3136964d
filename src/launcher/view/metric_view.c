/* metric_view.c - which values of a metric are better, by its name, and the values that
 * are kept. */
#include "view/metric_view.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/report_number.h"
#include "util/quote.h"

/* ---- Which values are better ---- */

static const char *const less[] = {"loss", "error", "err", "rmse",       "mse",
                                   "mae",  "mape",  "ppl", "perplexity", "logloss",
                                   "nll",  "wer",   "cer", "merror",     "rmsle",
                                   "bce",  "fid",   "l1",  "l2",         "deviance"};
static const char *const more[] = {"accuracy", "acc",  "auc",   "f1",     "precision",
                                   "recall",   "bleu", "score", "reward", "ndcg",
                                   "map",      "iou",  "dice",  "r2",     "aucpr"};

#define N_OF(table) (sizeof(table) / sizeof(table)[0])

static bool is_among(const char *const words[], size_t n, const char *word,
                     size_t bytes)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(words[i]) == bytes && strncasecmp(words[i], word, bytes) == 0)
            return true;
    return false;
}

/* The last word in the lists decides: "loss_acc" is an accuracy. */
enum metric_aim metric_aim_of(const char *name)
{
    enum metric_aim aim = AIM_UNKNOWN;

    while (*name) {
        size_t n = 0;

        while (isalnum((unsigned char)name[n]))
            n++;
        if (is_among(less, N_OF(less), name, n))
            aim = AIM_LESS;
        else if (is_among(more, N_OF(more), name, n))
            aim = AIM_MORE;
        name += n + (name[n] != '\0');
    }
    return aim;
}

/* ---- Values ---- */

struct metric_view *metric_view_create(const char *name, enum metric_aim aim)
{
    struct metric_view *m = calloc(1, sizeof *m);

    if (m && (m->name = strdup(name))) {
        m->aim = aim;
        return m;
    }
    free(m);
    return NULL;
}

void metric_view_destroy(struct metric_view *m)
{
    if (m)
        free(m->name);
    free(m);
}

/* Drops the oldest point if there is no room. */
static void point_add(struct metric_point points[], size_t max, size_t *n,
                      struct metric_point point)
{
    if (*n == max)
        memmove(points, points + 1, --*n * sizeof *points);
    points[(*n)++] = point;
}

static bool is_better(const struct metric_view *m, double value)
{
    const struct metric_point *best = metric_view_best(m);

    if (m->aim == AIM_UNKNOWN || isnan(value))
        return false;
    return !best || (m->aim == AIM_LESS ? value < best->value : value > best->value);
}

static void number_add(struct metric_view *m, int64_t iteration, double value)
{
    const struct metric_point point = {.iteration = iteration, .value = value};

    m->last = value;
    point_add(m->course, METRIC_COURSE, &m->n_course, point);
    if (is_better(m, value))
        point_add(m->records, METRIC_RECORDS, &m->n_records, point);
}

static void text_set(struct metric_view *m, const char *text)
{
    size_t n = utf8_cut(text, sizeof m->text - 1);

    memcpy(m->text, text, n);
    m->text[n] = '\0';
}

void metric_view_add(struct metric_view *m, int64_t iteration, const json_t *report)
{
    const json_t *value = json_object_get(report, m->name);
    char *text = NULL;

    m->known = true;
    m->iteration = iteration;
    m->is_number = metric_is_number(report, m->name);
    if (m->is_number) {
        number_add(m, iteration, metric_number(report, m->name));
    } else if (json_is_string(value)) {
        text_set(m, json_string_value(value));
    } else {
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        text_set(m, text ? text : "");
        free(text);
    }
}

void metric_view_rewind(struct metric_view *m, int64_t iteration)
{
    while (m->n_course > 0 && m->course[m->n_course - 1].iteration > iteration)
        m->n_course--;
    while (m->n_records > 0 && m->records[m->n_records - 1].iteration > iteration)
        m->n_records--;
}

const struct metric_point *metric_view_best(const struct metric_view *m)
{
    return m->n_records > 0 ? &m->records[m->n_records - 1] : NULL;
}

char *metric_number_text(double value, char out[METRIC_TEXT])
{
    if (isnan(value))
        strcpy(out, "NaN");
    else if (value == trunc(value) && fabs(value) < 1e10)
        snprintf(out, METRIC_TEXT, "%.0f", value);
    else
        snprintf(out, METRIC_TEXT, "%.5g", value);
    return out;
}

char *metric_view_text(const struct metric_view *m, char out[METRIC_TEXT])
{
    if (m->is_number)
        return metric_number_text(m->last, out);
    memcpy(out, m->text, METRIC_TEXT);
    return out;
}
