/* facts.c - load a run, and read its records, which another program may have
 * changed. */
#include "config.h"

#include "page/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/output.h"
#include "inspect/views.h"
#include "page/series.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/run_record.h"

static int config_load(struct facts *f, struct error *err)
{
    char *path = run_dir_file(f->path, "run.cfg");
    struct error why = {0};
    int rc = path ? record_read(path, RECORD_OF_RUN, &f->config, NULL, &why)
                  : error_no_memory(&why);

    free(path);
    if (rc < 0 && why.code != RAYTRAIN_ENOTFOUND)
        return error_set(err, why.code, "%s", why.text);
    /* A configuration of another version is shown, even if its score is not known. */
    if (f->config)
        train_config_merge_text(&f->settings, f->config, "run.cfg", NULL);
    return 0;
}

/* One pass over the reports, since there may be hundreds of attempts. */
static int reported_fill(struct facts *f, struct error *err)
{
    f->n_reported = json_array_size(f->attempts);
    f->reported = calloc(f->n_reported + 1, sizeof *f->reported);
    if (!f->reported)
        return error_no_memory(err);
    for (size_t i = 0; i < f->table.n; i++) {
        int64_t attempt = facts_integer(f, i, "attempt");

        if (attempt >= 0 && (uint64_t)attempt < f->n_reported)
            f->reported[attempt] = (double)facts_integer(f, i, "timestamp");
    }
    return 0;
}

int facts_load(const char *run, struct facts *f, struct error *err)
{
    const char *slash;

    *f = (struct facts){0};
    train_config_init(&f->settings);
    f->run = inspect_run_records(run, false, err);
    if (!f->run)
        return -1;
    f->attempts = json_object_get(f->run, "attempts");
    f->checkpoints = json_object_get(f->run, "checkpoints");
    f->path = string_of(f->run, "path");
    f->status = string_of(f->run, "status");
    slash = strrchr(f->path, '/');
    f->name = slash && slash[1] ? slash + 1 : f->path;
    f->now = clock_unix_double();
    f->table.on_supersede = superseded_take;
    f->table.on_supersede_arg = &f->superseded;
    if (metrics_load_table(f->path, &f->table, err) < 0)
        return -1;
    if (f->superseded.no_memory)
        return error_no_memory(err);
    return reported_fill(f, err) < 0 ? -1 : config_load(f, err);
}

void facts_clear(struct facts *f)
{
    metrics_table_clear(&f->table);
    superseded_clear(&f->superseded);
    train_config_clear(&f->settings);
    json_decref(f->run);
    free(f->reported);
    free(f->config);
}

double facts_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

int64_t facts_integer(const struct facts *f, size_t report, const char *key)
{
    return f->table.fields[report][series_field(key)].integer;
}

int64_t facts_iteration(const json_t *checkpoint)
{
    const json_t *value = json_object_get(checkpoint, "training_iteration");

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* The time of the last report of an attempt that counts; 0: it has none. */
static double last_report(const struct facts *f, int64_t attempt)
{
    return attempt >= 0 && (uint64_t)attempt < f->n_reported ? f->reported[attempt] : 0;
}

bool facts_times(const struct facts *f, const json_t *attempt, double *start,
                 double *end)
{
    const double latest = 253402300800.0; /* the year 10000 */

    *start = facts_number(attempt, "start");
    *end = facts_number(attempt, "end");
    if (!(*start > 0 && *start < latest)) {
        *start = *end = 0;
        return false;
    }
    if (!(*end >= *start && *end < latest)) {
        *end = strcmp(string_of(attempt, "outcome"), "running") == 0
                   ? f->now
                   : last_report(f, integer_of(attempt, "attempt"));
        if (!(*end >= *start && *end < latest))
            *end = *start;
    }
    return true;
}
