/*
 * csv.c - "csv": the reports that count as RUN/progress.csv, for spreadsheets and
 * pandas.
 *
 * result.json is the authoritative log. At the first attempt of each raytrain-run, the
 * file is rebuilt from it, so that it has the reports that an earlier raytrain-run did
 * not write, and only rows that still count. Later reports are added; if storage is too
 * slow, they are dropped, and the file is rebuilt again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "callback/callback.h"
#include "callback/deferred.h"
#include "callback/progress_csv.h"
#include "util/report_number.h"
#include "util/fault.h"
#include "util/fs.h"

#define FLUSH_S 1.0
#define CSV_END_S 10.0 /* how long the end of a run waits for the file */

struct csv {
    struct callback_list *list;
    struct deferred *writer;
    bool begun; /* the thread was asked to build the file */
    bool lost;  /* reports were dropped: the file must be rebuilt */
    bool slow_said, failed;
};

/* ---- In the thread ---- */

struct csv_writer {
    struct progress_csv *csv;
    bool full_said;
};

/* An item is a report; `null` asks for a rebuild. */
static int csv_work(void *state, void *const *items, size_t n, bool last,
                    struct error *err)
{
    struct csv_writer *w = state;

    if (fault_point("csv.write", 0) < 0)
        return fs_error(err, "write", PROGRESS_CSV);
    for (size_t i = 0; i < n; i++)
        if ((json_is_null((json_t *)items[i])
                 ? progress_csv_rebuild(w->csv, err)
                 : progress_csv_add(w->csv, items[i], err)) < 0)
            return -1;
    if (progress_csv_flush(w->csv, last, err) < 0)
        return -1;
    if (w->full_said || !progress_csv_is_full(w->csv))
        return 0;
    w->full_said = true;
    error_set(err, RAYTRAIN_EINVAL,
              PROGRESS_CSV " has %d columns, the maximum: metrics that appear "
                           "later are only in result.json",
              PROGRESS_CSV_COLUMNS);
    return 1;
}

static void csv_item_free(void *item)
{
    json_decref(item);
}

static void csv_state_free(void *state)
{
    struct csv_writer *w = state;

    progress_csv_free(w->csv);
    free(w);
}

static const struct deferred_ops csv_deferred = {
    .work = csv_work, .item_free = csv_item_free, .state_free = csv_state_free};

/* ---- In the launcher ---- */

static int csv_create(struct callback *cb, const struct callback_context *context,
                      struct error *err)
{
    struct csv *c = calloc(1, sizeof *c);
    struct csv_writer *w = calloc(1, sizeof *w);

    if (w)
        w->csv = progress_csv_new(context->run_dir);
    if (!c || !w || !w->csv) {
        free(c);
        free(w);
        return error_no_memory(err);
    }
    c->list = context->list;
    if (deferred_create(&csv_deferred, w, FLUSH_S, &c->writer, err) < 0) {
        free(c);
        return -1;
    }
    cb->impl = c;
    return 0;
}

/* Pass on messages of the thread. */
static void csv_listen(struct csv *c)
{
    struct error what;
    bool failed;

    if (!deferred_says(c->writer, &what, &failed))
        return;
    c->failed = failed;
    if (failed)
        callback_note(c->list,
                      "csv: %s; " PROGRESS_CSV " stays as it is until the run is "
                      "continued with --resume",
                      what.text);
    else
        callback_note(c->list, "csv: %s", what.text);
}

static void csv_order(struct csv *c)
{
    if (deferred_post(c->writer, json_null()))
        c->lost = false;
}

static void csv_attempt_start(struct callback *cb, const json_t *attempt)
{
    struct csv *c = cb->impl;

    (void)attempt;
    if (!c->begun)
        csv_order(c);
    c->begun = true;
}

/* An infinity is a text, as in the file; a report has null for it. */
static json_t *value_copy(const json_t *report, const char *name, const json_t *value)
{
    double number = json_is_null(value) ? metric_number(report, name) : 0;

    return isinf(number) ? json_string(number > 0 ? "inf" : "-inf")
                         : json_deep_copy(value);
}

/* Copies what the thread needs. */
static json_t *report_copy(const json_t *report)
{
    json_t *copy = json_object(), *value;
    const char *name;

    json_object_foreach((json_t *)(uintptr_t)report, name, value)
    {
        if (strcmp(name, "by_rank") != 0 && strcmp(name, METRICS_REPORTED) != 0 &&
            json_object_set_new(copy, name, value_copy(report, name, value)) < 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static void csv_report(struct callback *cb, const json_t *report)
{
    struct csv *c = cb->impl;

    csv_listen(c);
    if (c->failed)
        return;
    if (c->lost)
        csv_order(c);
    if (c->lost || deferred_post(c->writer, report_copy(report)))
        return;
    c->lost = true;
    csv_listen(c);
    if (c->failed || c->slow_said)
        return;
    c->slow_said = true;
    callback_note(c->list, "csv: " PROGRESS_CSV
                           " falls behind: its storage is too slow, or does "
                           "not respond; the file is completed from result.json");
}

static void csv_end(struct callback *cb, const json_t *result)
{
    struct csv *c = cb->impl;
    bool done;

    (void)result;
    if (!c->begun || c->lost)
        csv_order(c);
    done = deferred_finish(c->writer, CSV_END_S);
    csv_listen(c);
    if (!done && !c->failed)
        callback_note(c->list,
                      "csv: " PROGRESS_CSV " is incomplete: its storage does not "
                      "respond; raytrain-run --resume completes it");
}

static void csv_destroy(struct callback *cb)
{
    struct csv *c = cb->impl;

    deferred_destroy(c->writer);
    free(c);
}

const struct callback_ops callback_csv = {
    .create = csv_create,
    .on_attempt_start = csv_attempt_start,
    .on_report = csv_report,
    .on_end = csv_end,
    .destroy = csv_destroy,
};
