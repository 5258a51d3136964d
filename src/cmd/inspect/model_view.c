/* model_view.c - the description of a checkpoint's model of trees: its rounds, features
 * and their importance. */
#include "inspect/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/gbdt_config.h"
#include "inspect/output.h"
#include "util/quote.h"

/* number of features that are shown */
#define MOST 10

struct importance {
    size_t feature;
    double gain, splits;
};

/* ---- What the checkpoint has ---- */

static json_t *text_json(raytrain_checkpoint *ck, const char *name)
{
    char *text = NULL;
    json_t *out;

    if (checkpoint_get_string(ck, name, &text, NULL) < 0)
        return json_null();
    out = json_text(text);
    free(text);
    return out;
}

static json_t *integer_json(raytrain_checkpoint *ck, const char *name)
{
    int64_t value;
    const raytrain_tensor t = {.data = &value, .dtype = RAYTRAIN_INT64};

    return checkpoint_get(ck, name, &t, NULL, NULL) == 0 ? json_integer(value)
                                                         : json_null();
}

static json_t *real_json(raytrain_checkpoint *ck, const char *name)
{
    double value;
    const raytrain_tensor t = {.data = &value, .dtype = RAYTRAIN_FLOAT64};

    return checkpoint_get(ck, name, &t, NULL, NULL) == 0 && isfinite(value)
               ? json_real(value)
               : json_null();
}

/* A number for each feature, *n in all. NULL: there are none. */
static double *numbers_read(raytrain_checkpoint *ck, const char *name, size_t *n)
{
    raytrain_tensor t;
    double *values;

    if (checkpoint_info(ck, name, &t, NULL) < 0 || t.dtype != RAYTRAIN_FLOAT64 ||
        t.ndim != 1)
        return NULL;
    *n = t.shape[0];
    values = calloc(*n + 1, sizeof *values);
    t.data = values;
    if (values && checkpoint_get(ck, name, &t, NULL, NULL) == 0)
        return values;
    free(values);
    return NULL;
}

/* ---- The most important features ---- */

static int by_gain(const void *a, const void *b)
{
    const struct importance *x = a, *y = b;

    if (x->gain != y->gain)
        return x->gain < y->gain ? 1 : -1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

/* XGBoost's name for a feature without one: f12. */
static json_t *feature_name(const json_t *names, size_t i)
{
    const char *name = json_string_value(json_array_get(names, i));
    char number[32];

    if (name)
        return json_text(name);
    snprintf(number, sizeof number, "f%zu", i);
    return json_string(number);
}

static json_t *names_read(raytrain_checkpoint *ck)
{
    char *text = NULL;
    json_t *names;

    if (checkpoint_get_string(ck, GBDT_FEATURES, &text, NULL) < 0)
        return NULL;
    names = json_loads(text, 0, NULL);
    free(text);
    return names;
}

static json_t *importance_json(raytrain_checkpoint *ck, size_t *n)
{
    size_t m = 0;
    double *gain = numbers_read(ck, GBDT_GAIN, n);
    double *splits = numbers_read(ck, GBDT_SPLITS, &m);
    struct importance *all = gain && splits ? calloc(*n + 1, sizeof *all) : NULL;
    json_t *list = json_array(), *names = names_read(ck);

    for (size_t i = 0; all && i < *n; i++)
        all[i] = (struct importance){i, gain[i], i < m ? splits[i] : 0};
    if (all)
        qsort(all, *n, sizeof *all, by_gain);
    for (size_t i = 0; all && i < *n && i < MOST && all[i].gain > 0; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:f, s:f}", "feature",
                                        feature_name(names, all[i].feature), "gain",
                                        all[i].gain, "splits", all[i].splits));
    json_decref(names);
    free(all);
    free(gain);
    free(splits);
    return list;
}

int model_json(raytrain_checkpoint *ck, json_t **out, struct error *err)
{
    size_t n = 0, at;
    json_t *important;

    if (!checkpoint_item_find(ck, GBDT_TRAINER, &at))
        return 0;
    important = importance_json(ck, &n);
    *out = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "trainer",
        text_json(ck, GBDT_TRAINER), "library", text_json(ck, GBDT_LIBRARY), "rounds",
        integer_json(ck, GBDT_ROUND), "best_round", integer_json(ck, GBDT_BEST_ROUND),
        "best_score", real_json(ck, GBDT_BEST_SCORE), "best_metric",
        text_json(ck, GBDT_BEST_METRIC), "features", (json_int_t)n, "importance",
        important);
    return *out ? 0 : error_no_memory(err);
}

/* ---- The text ---- */

static void best_print(FILE *out, const json_t *model)
{
    const json_t *best = json_object_get(model, "best_round");

    if (!json_is_integer(best) || json_integer_value(best) < 0)
        return;
    fprintf(out, "; the best is round %lld", (long long)json_integer_value(best) + 1);
    if (!*string_of(model, "best_metric"))
        return;
    fputs(", ", out);
    output_text(out, string_of(model, "best_metric"));
    fprintf(out, " = %.6g", json_number_value(json_object_get(model, "best_score")));
}

void model_print(FILE *out, const json_t *model)
{
    json_int_t rounds = integer_of(model, "rounds"), n = integer_of(model, "features");
    json_t *f;
    size_t i;

    fprintf(out, "%-12s", "model");
    output_text(out, string_of(model, "trainer"));
    if (*string_of(model, "library")) {
        fputc(' ', out);
        output_text(out, string_of(model, "library"));
    }
    fprintf(out, ", %lld feature%s, %lld round%s", (long long)n, n == 1 ? "" : "s",
            (long long)rounds, rounds == 1 ? "" : "s");
    best_print(out, model);
    fputc('\n', out);
    json_array_foreach(json_object_get(model, "importance"), i, f)
    {
        if (i == 0)
            fprintf(out, "\n%12s %8s  %s\n", "gain", "splits", "feature");
        fprintf(out, "%12.6g %8.0f  ", json_number_value(json_object_get(f, "gain")),
                json_number_value(json_object_get(f, "splits")));
        output_text(out, string_of(f, "feature"));
        fputc('\n', out);
    }
}
