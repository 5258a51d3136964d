/*
 * run_state.c - the state of a run, updated by its events.
 *
 *   What a run stops by
 *   Attempts
 *   Reports       iterations, pace, metrics, checkpoints
 *   Events
 *   Figures       that follow from these
 */
#include "view/run_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* ---- What a run stops by ---- */

static void end_lower(struct run_state *v, int64_t iteration)
{
    if (v->ends[END_STOP] == 0 || iteration < v->ends[END_STOP])
        v->ends[END_STOP] = iteration;
}

static void stop_take(struct run_state *v, const struct stop_criterion *stop)
{
    if (!(stop->value > 0 && stop->value < 1e15))
        return;
    if (strcmp(stop->metric, "training_iteration") == 0)
        end_lower(v, (int64_t)ceil(stop->value));
    else if (strcmp(stop->metric, "iterations_since_restore") == 0)
        v->since_restore = (int64_t)ceil(stop->value);
    else if (strcmp(stop->metric, "time_total_s") == 0)
        v->limit_s = stop->value;
}

void run_state_total(struct run_state *v, int64_t iterations)
{
    v->ends[END_TOTAL] = iterations > 0 ? iterations : 0;
}

void run_state_init(struct run_state *v, const struct train_config *cfg, double now)
{
    const struct run_config *run = &cfg->run_config;

    *v = (struct run_state){
        .cfg = cfg, .started = now, .predicts = cfg->predict.output != NULL};
    if (v->predicts)
        return;
    if (cfg->trainer && gbdt_config_is_trainer(cfg->trainer))
        end_lower(v, cfg->gbdt.num_boost_round);
    for (size_t i = 0; i < run->n_stop; i++)
        stop_take(v, &run->stop[i]);
}

void run_state_clear(struct run_state *v)
{
    for (size_t i = 0; i < v->n_metrics; i++)
        metric_view_destroy(v->metrics[i]);
    free(v->metrics);
    json_decref(v->metric_index);
    *v = (struct run_state){0};
}

/* ---- Attempts ---- */

static int integer_of(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

void run_state_attempt_start(struct run_state *v, const json_t *attempt, double now)
{
    const char *launcher = json_string_value(json_object_get(attempt, "launcher"));

    (void)now;
    v->has_attempt = v->running = true;
    v->attempt = integer_of(attempt, "attempt");
    v->workers = integer_of(attempt, "workers");
    v->nodes = json_array_size(json_object_get(attempt, "nodes"));
    snprintf(v->launcher, sizeof v->launcher, "%s", launcher ? launcher : "");
    v->restarts = v->failures;
    v->attempts++;
    v->reported = 0;
    v->saving = 0;
    v->pace.seen = 0;
}

/* Does max_failures of FailureConfig count this end? */
static bool is_failure(const char *outcome, const char *cause)
{
    return outcome && strcmp(outcome, "failed") == 0 &&
           (!cause || strcmp(cause, "start") != 0);
}

void run_state_attempt_end(struct run_state *v, const json_t *attempt, double now)
{
    (void)now;
    v->running = false;
    if (is_failure(json_string_value(json_object_get(attempt, "outcome")),
                   json_string_value(json_object_get(attempt, "cause"))))
        v->failures++;
}

/* ---- Reports ---- */

/* The first iteration of an attempt includes the start, so it counts only until there
 * is another. */
static void pace_add(struct run_pace *pace, double seconds)
{
    size_t at = pace->seen > 0 ? (pace->seen - 1) % RUN_STATE_PACE : 0;

    pace->seconds[at] = seconds;
    pace->seen++;
}

static struct metric_view *metric_add(struct run_state *v, const char *name)
{
    const struct checkpoint_config *cfg = &v->cfg->run_config.checkpoint_config;
    const char *score = cfg->checkpoint_score_attribute;
    enum metric_aim aim = metric_aim_of(name);
    struct metric_view *m;

    if (score && strcmp(score, name) == 0)
        aim = cfg->checkpoint_score_min ? AIM_LESS : AIM_MORE;
    if (!v->metric_index && !(v->metric_index = json_object()))
        return NULL;
    if (array_grow(&v->metrics, &v->metrics_room, v->n_metrics, sizeof *v->metrics) < 0)
        return NULL;
    m = metric_view_create(name, aim);
    if (!m || json_object_set_new(v->metric_index, name,
                                  json_integer((json_int_t)v->n_metrics)) < 0) {
        metric_view_destroy(m);
        return NULL;
    }
    v->metrics[v->n_metrics++] = m;
    return m;
}

/* Most reports have the same metrics in the same order: *at is where the next one is
 * expected. */
static struct metric_view *metric_find(struct run_state *v, const char *name,
                                       size_t *at)
{
    const json_t *known;

    if (*at >= v->n_metrics || strcmp(v->metrics[*at]->name, name) != 0) {
        known = json_object_get(v->metric_index, name);
        if (!known) {
            *at = v->n_metrics + 1;
            return metric_add(v, name);
        }
        *at = (size_t)json_integer_value(known);
    }
    return v->metrics[(*at)++];
}

/* Figures of a prediction that are not shown as metrics. */
static bool is_of_rows(const struct run_state *v, const char *name)
{
    return v->predicts && (!strcmp(name, "rows") || !strcmp(name, "rows_total") ||
                           !strcmp(name, "time_left_s"));
}

/* The metrics of the user are those that by_rank lists. */
static void metrics_take(struct run_state *v, const json_t *report, int64_t iteration)
{
    const char *name;
    json_t *ranks;
    size_t at = 0;

    json_object_foreach(json_object_get(report, "by_rank"), name, ranks)
    {
        const json_t *value = json_object_get(report, name);
        struct metric_view *m =
            value && !is_of_rows(v, name) ? metric_find(v, name, &at) : NULL;

        if (m)
            metric_view_add(m, iteration, report);
    }
}

static void rows_take(struct run_state *v, const json_t *report)
{
    const json_t *total = json_object_get(report, "rows_total");

    v->rows.done = (int64_t)json_number_value(json_object_get(report, "rows"));
    v->rows.total = total ? (int64_t)json_number_value(total) : 0;
    v->rows.left_s = json_number_value(json_object_get(report, "time_left_s"));
}

static void gpus_take(struct run_state *v, const json_t *report)
{
    const json_t *busy = json_object_get(report, "gpu_utilization");

    v->gpu_utilization = json_is_number(busy) ? json_number_value(busy) : NAN;
    v->gpu_memory_used =
        json_number_value(json_object_get(report, "gpu_memory_used_bytes"));
    v->gpu_memory_total =
        json_number_value(json_object_get(report, "gpu_memory_total_bytes"));
}

void run_state_report(struct run_state *v, const json_t *report, double now)
{
    int64_t iteration =
        json_integer_value(json_object_get(report, "training_iteration"));

    for (size_t i = 0; iteration <= v->iteration && i < v->n_metrics; i++)
        metric_view_rewind(v->metrics[i], iteration - 1);
    v->iteration = iteration;
    v->total_s = json_number_value(json_object_get(report, "time_total_s"));
    metrics_take(v, report, iteration);
    if (v->predicts)
        rows_take(v, report);
    gpus_take(v, report);
    if (now == 0)
        return;
    v->reported = now;
    pace_add(&v->pace, json_number_value(json_object_get(report, "time_this_iter_s")));
    if (v->since_restore > 0)
        v->ends[END_RESTORE] =
            iteration + v->since_restore -
            json_integer_value(json_object_get(report, "iterations_since_restore"));
    if (json_is_string(json_object_get(report, "checkpoint"))) {
        v->saving = iteration;
        v->saving_at = now;
    }
}

void run_state_saved(struct run_state *v, int64_t iteration, uint64_t bytes, double now)
{
    v->newest = iteration;
    v->newest_bytes = bytes;
    v->newest_at = now;
    if (v->saving <= iteration)
        v->saving = 0;
}

/* ---- Events ---- */

void run_state_note(struct run_state *v, const char *text, double now)
{
    snprintf(v->event, sizeof v->event, "%.*s", (int)strcspn(text, "\n"), text);
    v->event_at = now;
}

void run_state_live(struct run_state *v, const char *line)
{
    snprintf(v->live, sizeof v->live, "%s", line ? line : "");
}

/* ---- Figures ---- */

int64_t run_state_last(const struct run_state *v)
{
    int64_t last = 0;

    for (int i = 0; i < RUN_STATE_ENDS; i++)
        if (v->ends[i] > 0 && (last == 0 || v->ends[i] < last))
            last = v->ends[i];
    return last;
}

double run_state_pace(const struct run_state *v)
{
    size_t n = v->pace.seen > 1 ? v->pace.seen - 1 : v->pace.seen;
    double sum = 0;

    if (n > RUN_STATE_PACE)
        n = RUN_STATE_PACE;
    for (size_t i = 0; i < n; i++)
        sum += v->pace.seconds[i];
    return n > 0 ? sum / (double)n : NAN;
}

/* Subtracts the time already spent in the current iteration. */
double run_state_remaining(const struct run_state *v, double now)
{
    int64_t last = run_state_last(v);
    double left = NAN;

    if (v->reported == 0)
        return NAN;
    if (v->predicts)
        left = v->rows.left_s;
    else if (last > 0 && v->pace.seen > 1)
        left = (double)(last - v->iteration) * run_state_pace(v);
    if (v->limit_s > 0)
        left = fmin(left, v->limit_s - v->total_s);
    return isnan(left) ? NAN : fmax(left - (now - v->reported), 0);
}

double run_state_fraction(const struct run_state *v)
{
    int64_t last = run_state_last(v);
    double done = NAN;

    if (v->predicts)
        return v->rows.total > 0 ? (double)v->rows.done / (double)v->rows.total : NAN;
    if (last > 0)
        done = (double)v->iteration / (double)last;
    if (v->limit_s > 0)
        done = fmax(done, v->total_s / v->limit_s);
    return isnan(done) ? NAN : fmin(done, 1);
}

/* The length of the name before a suffix such as "_per_s"; 0: it has none. */
static size_t rate_stem(const char *name)
{
    static const char *const ends[] = {"_per_second", "_per_sec", "_per_s", "/s"};
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);

        if (n > end && strcmp(name + n - end, ends[i]) == 0)
            return n - end;
    }
    return 0;
}

bool run_state_is_rate(const struct metric_view *m)
{
    return m->is_number && rate_stem(m->name) > 0;
}

bool run_state_has_line(const struct run_state *v, const struct metric_view *m)
{
    bool of_gpus = strcmp(m->name, "gpu_utilization") == 0 ||
                   strcmp(m->name, "gpu_memory_used_bytes") == 0;

    return !run_state_is_rate(m) && !(of_gpus && v->gpu_memory_total > 0);
}

const struct metric_view *run_state_rate(const struct run_state *v,
                                         char unit[METRIC_TEXT])
{
    for (size_t i = 0; i < v->n_metrics; i++) {
        const char *name = v->metrics[i]->name;
        size_t stem = rate_stem(name), from = stem;

        if (!run_state_is_rate(v->metrics[i]))
            continue;
        while (from > 0 && name[from - 1] != '/')
            from--;
        snprintf(unit, METRIC_TEXT, "%.*s/s", (int)(stem - from), name + from);
        return v->metrics[i];
    }
    return NULL;
}
