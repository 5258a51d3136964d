/* compare_csv.c - a comparison of runs as CSV, a row for each run; compare_view.c makes
 * the object. */
#include "config.h"

#include <stdio.h>

#include "inspect/csv_output.h"
#include "inspect/run_summary.h"
#include "inspect/views.h"

static const char *const csv_keys[] = {
    "name",     "status",  "iteration",   "time_total_s",     "updated",
    "attempts", "workers", "checkpoints", "checkpoint_bytes", "path"};
static const char *const csv_stats[] = {"last", "min", "min_iteration", "max",
                                        "max_iteration"};
#define N_KEYS  (sizeof csv_keys / sizeof *csv_keys)
#define N_STATS (sizeof csv_stats / sizeof *csv_stats)

static void csv_head(FILE *out, json_t *config, json_t *names)
{
    json_t *value;
    const char *key;
    size_t k;

    for (size_t c = 0; c < N_KEYS; c++) {
        if (c > 0)
            csv_next(out);
        csv_text(out, csv_keys[c]);
    }
    json_object_foreach(config, key, value)
    {
        csv_next(out);
        csv_text(out, key);
    }
    json_array_foreach(names, k, value) for (size_t s = 0; s < N_STATS; s++)
    {
        char title[128];

        snprintf(title, sizeof title, "%.100s.%s", json_string_value(value),
                 csv_stats[s]);
        csv_next(out);
        csv_text(out, title);
    }
    csv_end(out);
}

static void csv_row(FILE *out, const json_t *run, size_t i, json_t *config,
                    json_t *names)
{
    json_t *value;
    const char *key;
    size_t k;

    for (size_t c = 0; c < N_KEYS; c++) {
        if (c > 0)
            csv_next(out);
        csv_json(out, json_object_get(run, csv_keys[c]));
    }
    json_object_foreach(config, key, value)
    {
        csv_next(out);
        csv_json(out, json_array_get(value, i));
    }
    json_array_foreach(names, k, value) for (size_t s = 0; s < N_STATS; s++)
    {
        csv_next(out);
        csv_json(out, json_object_get(json_object_get(json_object_get(run, "metrics"),
                                                      json_string_value(value)),
                                      csv_stats[s]));
    }
    csv_end(out);
}

void inspect_compare_csv(FILE *out, const json_t *comparison)
{
    json_t *runs = json_object_get(comparison, "runs"),
           *config = json_object_get(comparison, "config"),
           *names = run_summary_metrics(runs), *run;
    size_t i;

    csv_head(out, config, names);
    json_array_foreach(runs, i, run) csv_row(out, run, i, config, names);
    json_decref(names);
}
