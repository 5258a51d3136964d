/* attempts.c - the reports of each attempt; the records; what was lost. */
#include "run/attempts.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "run/checkpoint_manager.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/run_record.h"

/* The part of a report that is needed here. All reports are read, even those that do
 * not count. */
struct reported {
    int attempt;
    int64_t iteration;
    double time_total_s, time_since_restore;
    int64_t since_restore; /* iterations; 0: not known */
};

struct reported_list {
    struct reported *reports;
    size_t n, room;
    bool no_memory;
};

/* The members that are read of a report, in the order above. */
static const char *const KEYS[] = {"attempt", "training_iteration", "time_total_s",
                                   "time_since_restore", "iterations_since_restore"};

static double number_or_zero(double number)
{
    return isfinite(number) && fabs(number) < 9e15 ? number : 0;
}

static void report_add(void *arg, const double *numbers)
{
    struct reported_list *list = arg;
    double attempt = number_or_zero(numbers[0]);

    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 256;
        struct reported *grown = realloc(list->reports, room * sizeof *grown);

        if (!grown) {
            list->no_memory = true;
            return;
        }
        list->reports = grown;
        list->room = room;
    }
    list->reports[list->n++] = (struct reported){
        fabs(attempt) < INT_MAX ? (int)attempt : -1,
        (int64_t)number_or_zero(numbers[1]),
        number_or_zero(numbers[2]),
        number_or_zero(numbers[3]),
        (int64_t)number_or_zero(numbers[4]),
    };
}

static int last_reports_read(const char *run_dir, struct reported_list *list,
                             struct error *err)
{
    int rc = metrics_each_numbers(run_dir, KEYS, sizeof KEYS / sizeof *KEYS, report_add,
                                  list, err);

    if (rc == 0 && list->no_memory)
        rc = error_no_memory(err);
    return rc;
}

/* What an attempt has reported. */
struct tally {
    size_t count;
    const struct reported *first, *last; /* NULL: nothing */
};

/* Of attempts 0 to `last`, in one pass; malloc'ed. */
static struct tally *tallies_make(const struct reported_list *list, int last)
{
    struct tally *tallies = calloc((size_t)last + 2, sizeof *tallies);

    for (size_t i = 0; tallies && i < list->n; i++) {
        int attempt = list->reports[i].attempt;

        if (attempt < 0 || attempt > last)
            continue;
        if (tallies[attempt].count++ == 0)
            tallies[attempt].first = &list->reports[i];
        tallies[attempt].last = &list->reports[i];
    }
    return tallies;
}

/* The record of attempt k. */
static json_t *record_load(const char *run_dir, int k)
{
    char *log_dir = run_dir_log_dir(run_dir, k);
    char *path = log_dir ? run_dir_file(log_dir, "attempt.json") : NULL;
    json_t *attempt = path ? record_read_json(path, RECORD_OF_ATTEMPT) : NULL;

    free(path);
    free(log_dir);
    if (json_is_object(attempt))
        return attempt;
    json_decref(attempt);
    return json_pack("{s:i}", "attempt", k);
}

/* The iteration of the checkpoint that attempt k started from; -1: none is known. Its
 * reports say it, whatever the name of the checkpoint. */
static int64_t start_of(const json_t *all, size_t k, const struct tally *tallies)
{
    const json_t *attempt = json_array_get(all, k);
    const char *path = json_string_value(json_object_get(attempt, "checkpoint"));
    const struct reported *first = tallies[k].first;

    if (first && first->since_restore > 0 && first->iteration > first->since_restore)
        return first->iteration - first->since_restore;
    if (!path)
        return -1;
    return first && first->since_restore > 0 ? 0 : checkpoint_manager_iteration(path);
}

/* The iteration that the run continued from after attempt k, or would continue from. */
static int64_t next_start(const json_t *all, size_t k, const struct tally *tallies,
                          int64_t newest)
{
    int64_t own = start_of(all, k, tallies);

    for (size_t j = k + 1; j < json_array_size(all); j++) {
        int64_t start = start_of(all, j, tallies);

        if (start >= 0)
            return start;
        if (tallies[j].last) /* it started from scratch */
            return 0;
    }
    if (newest < own)
        newest = own;
    return newest < 0 ? 0 : newest;
}

/* Seconds of training between iteration `from` and the attempt's last report. */
static json_t *seconds_since(const struct reported_list *list, int64_t from,
                             const struct reported *last, int64_t start)
{
    if (from == 0)
        return json_real(last->time_total_s);
    for (size_t i = (size_t)(last - list->reports) + 1; i-- > 0;)
        if (list->reports[i].iteration == from)
            return json_real(last->time_total_s - list->reports[i].time_total_s);
    return from == start ? json_real(last->time_since_restore) : json_null();
}

static int attempt_complete(json_t *all, size_t k, const struct reported_list *list,
                            const struct tally *tallies, bool running, int64_t newest)
{
    json_t *attempt = json_array_get(all, k);
    const struct reported *last = tallies[k].last;
    const char *outcome = json_string_value(json_object_get(attempt, "outcome"));
    json_t *lost = json_null(), *seconds = json_null();
    int rc = 0;

    if (!outcome) {
        outcome = running ? "running" : "interrupted";
        rc |= json_object_set_new(attempt, "outcome", json_string(outcome));
    }
    if (strcmp(outcome, "running") != 0 && strcmp(outcome, "finished") != 0) {
        int64_t from = next_start(all, k, tallies, newest);
        bool some = last && last->iteration > from;

        lost = json_integer(some ? last->iteration - from : 0);
        seconds = some ? seconds_since(list, from, last, start_of(all, k, tallies))
                       : json_real(0);
    }
    rc |= json_object_set_new(attempt, "reports",
                              json_integer((json_int_t)tallies[k].count));
    rc |= json_object_set_new(attempt, "iteration",
                              last ? json_integer(last->iteration) : json_null());
    rc |= json_object_set_new(attempt, "lost_iterations", lost);
    rc |= json_object_set_new(attempt, "lost_seconds", seconds);
    return rc;
}

int attempts_load(const char *run_dir, bool held, json_t **attempts, struct error *err)
{
    int last = run_dir_last_attempt(run_dir), rc = 0;
    int64_t newest = checkpoint_manager_newest(run_dir);
    struct reported_list list = {NULL, 0, 0, false};
    struct tally *tallies;
    json_t *all = json_array();

    if (last_reports_read(run_dir, &list, err) < 0) {
        free(list.reports);
        json_decref(all);
        return -1;
    }
    tallies = tallies_make(&list, last);
    for (int k = 0; rc == 0 && k <= last; k++)
        rc = json_array_append_new(all, record_load(run_dir, k));
    for (int k = 0; tallies && rc == 0 && k <= last; k++)
        rc =
            attempt_complete(all, (size_t)k, &list, tallies, held && k == last, newest);
    free(list.reports);
    rc = tallies ? rc : -1;
    free(tallies);
    if (!all || rc) {
        json_decref(all);
        return error_no_memory(err);
    }
    *attempts = all;
    return 0;
}
