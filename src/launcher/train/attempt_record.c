/* attempt_record.c - attempt.json composed, written, and read again. */
#include "train/attempt_record.h"

#include <stdlib.h>
#include <string.h>

#include "run/run_dir.h"
#include "train/attempt_verdict.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

json_t *attempt_create(int attempt, const char *launcher, const struct placement *plan,
                       int64_t progress_before)
{
    json_t *nodes = json_array();

    for (size_t i = 0; nodes && i < plan->n_nodes; i++) {
        json_t *node = json_pack("{s:s, s:i}", "name", plan->nodes[i].name, "tasks",
                                 plan->nodes[i].tasks);

        if (json_array_append_new(nodes, node) < 0) {
            json_decref(nodes);
            return NULL;
        }
    }
    return json_pack("{s:i, s:i, s:s, s:o, s:f, s:n, s:I}", "attempt", attempt,
                     "workers", plan->workers, "launcher", launcher, "nodes", nodes,
                     "start", clock_unix_double(), "checkpoint", "progress_before",
                     (json_int_t)progress_before);
}

int attempt_job_set(json_t *record, const char *job, int restarts)
{
    return json_object_set_new(record, "job", json_text(job)) < 0 ||
                   json_object_set_new(record, "restarts", json_integer(restarts)) < 0
               ? -1
               : 0;
}

static json_t *record_load(const char *run_dir, int attempt)
{
    char *log_dir = run_dir_log_dir(run_dir, attempt);
    char *path = log_dir ? run_dir_file(log_dir, "attempt.json") : NULL;
    json_t *record = path ? record_read_json(path, RECORD_OF_ATTEMPT) : NULL;

    free(path);
    free(log_dir);
    return record;
}

static bool has_word(const json_t *record, const char *key, const char *word)
{
    const char *value = json_string_value(json_object_get(record, key));

    return value && strcmp(value, word) == 0;
}

int attempt_preemptions(const char *run_dir, int before, const char *job, int restarts)
{
    const char *preempted = attempt_cause_name(CAUSE_PREEMPTED);
    bool same = true;
    int n = 0;

    for (int k = before - 1; same && k >= 0; k--) {
        json_t *record = record_load(run_dir, k);
        const json_t *restart = json_object_get(record, "restarts");

        same = has_word(record, "job", job);
        if (same && json_integer_value(restart) < restarts &&
            has_word(record, "cause", preempted))
            n++;
        json_decref(record);
    }
    return n;
}

bool attempt_was_stopped(const char *log_dir, int64_t *progress_before)
{
    char *path = run_dir_file(log_dir, "attempt.json");
    json_t *record = path ? record_read_json(path, RECORD_OF_ATTEMPT) : NULL;
    json_t *before = json_object_get(record, "progress_before");
    const char *outcome = json_string_value(json_object_get(record, "outcome")),
               *cause = json_string_value(json_object_get(record, "cause"));
    bool stopped = json_is_integer(before) && outcome && cause &&
                   strcmp(outcome, run_status_name(RUN_STOPPED)) == 0 &&
                   strcmp(cause, attempt_cause_name(CAUSE_PREEMPTED)) != 0;

    *progress_before = stopped ? (int64_t)json_integer_value(before) : -1;
    json_decref(record);
    free(path);
    return stopped;
}

int attempt_save(const json_t *attempt, const char *log_dir, struct error *err)
{
    char *path = run_dir_file(log_dir, "attempt.json");
    char *text = json_dumps(attempt, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    int rc;

    if (!path || !text)
        rc = error_no_memory(err);
    else
        rc = fs_write_atomic(path, text, strlen(text), 0644, err);
    free(text);
    free(path);
    return rc;
}

void attempt_tidy(const char *log_dir)
{
    char *path = run_dir_file(log_dir, "attempt.json");

    if (path)
        fs_remove_temps(path);
    free(path);
}
