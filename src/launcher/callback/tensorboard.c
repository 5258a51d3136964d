/*
 * tensorboard.c - "tensorboard": reports as scalars, and the hyperparameters, in event
 * files in the run directory (tfevents/run_events.h). A thread writes them.
 *
 * result.json is the authoritative log. Reports that the files lack are added from it
 * at the first attempt of each raytrain-run, and after reports were dropped because
 * storage is too slow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callback/callback.h"
#include "callback/deferred.h"
#include "tfevents/run_events.h"

#define FLUSH_S 1.0
#define TENSORBOARD_END_S 10.0 /* how long the end of a run waits for the file */

struct tensorboard {
    struct callback_list *list;
    struct deferred *writer;
    bool begun; /* the thread was asked to catch up */
    bool lost;  /* reports were dropped: ask again */
    bool slow_said, failed;
};

/* ---- Hyperparameters ---- */

static int parameters_flatten(json_t *all, const char *prefix, const json_t *group);

/* Lists become texts. */
static int parameter_add(json_t *all, const char *name, const json_t *value)
{
    char *text;
    int rc;

    if (json_is_object(value)) {
        if (asprintf(&text, "%s/", name) < 0)
            return -1;
        rc = parameters_flatten(all, text, value);
        free(text);
        return rc;
    }
    if (!json_is_array(value))
        return json_object_set_new(all, name, json_copy((json_t *)(uintptr_t)value));
    text = json_dumps(value, JSON_COMPACT);
    rc = text ? json_object_set_new(all, name, json_string(text)) : -1;
    free(text);
    return rc;
}

/* Put the items of a group into `all` with names such as "optimizer/rate". */
static int parameters_flatten(json_t *all, const char *prefix, const json_t *group)
{
    const char *name;
    json_t *value;
    int rc = 0;

    json_object_foreach((json_t *)(uintptr_t)group, name, value)
    {
        char *key;

        if (rc < 0 || asprintf(&key, "%s%s", prefix, name) < 0)
            return -1;
        rc = parameter_add(all, key, value);
        free(key);
    }
    return rc;
}

/* The hyperparameters, by which runs are compared. NULL without memory. */
static json_t *parameters_of(const struct train_config *cfg)
{
    json_t *all = json_object();
    int rc = all ? parameters_flatten(all, "", cfg->train_loop_config) : -1;

    if (rc == 0 && gbdt_config_is_trainer(cfg->trainer) &&
        (parameters_flatten(all, "", cfg->gbdt.params) < 0 ||
         json_object_set_new(all, "num_boost_round",
                             json_integer(cfg->gbdt.num_boost_round)) < 0))
        rc = -1;
    if (rc == 0)
        return all;
    json_decref(all);
    return NULL;
}

/* ---- In the thread ---- */

struct writer {
    struct run_events *events;
    bool trouble_said;
};

/* An item is a report, `null` to catch up, or the status of the run at its end. */
static int item_work(struct run_events *events, const json_t *item, struct error *err)
{
    if (json_is_null(item))
        return run_events_catch_up(events, err);
    if (json_is_integer(item))
        return run_events_end(events, (enum tfevents_status)json_integer_value(item),
                              err);
    return run_events_add(events, item, err);
}

/* Storage may recover: the work continues, with one message. */
static int work(void *state, void *const *items, size_t n, bool last, struct error *err)
{
    struct writer *w = state;
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        if (item_work(w->events, items[i], rc == 0 ? err : NULL) < 0)
            rc = -1;
    if (run_events_flush(w->events, rc == 0 ? err : NULL) < 0)
        rc = -1;
    if (rc == 0 || last)
        return rc;
    if (w->trouble_said)
        return 0;
    w->trouble_said = true;
    return 1;
}

static void item_free(void *item)
{
    json_decref(item);
}

static void state_free(void *state)
{
    struct writer *w = state;

    run_events_free(w->events);
    free(w);
}

static const struct deferred_ops writer_ops = {
    .work = work, .item_free = item_free, .state_free = state_free};

/* ---- In the launcher ---- */

static int tensorboard_create(struct callback *cb,
                              const struct callback_context *context, struct error *err)
{
    struct tensorboard *t = calloc(1, sizeof *t);
    struct writer *w = calloc(1, sizeof *w);

    if (w)
        w->events = run_events_new(context->run_dir, parameters_of(context->cfg));
    if (!t || !w || !w->events) {
        if (w)
            state_free(w);
        free(t);
        return error_no_memory(err);
    }
    t->list = context->list;
    if (deferred_create(&writer_ops, w, FLUSH_S, &t->writer, err) < 0) {
        free(t);
        return -1;
    }
    cb->impl = t;
    return 0;
}

/* Pass on messages of the thread. */
static void listen(struct tensorboard *t)
{
    struct error what;
    bool failed;

    if (!deferred_says(t->writer, &what, &failed))
        return;
    t->failed = failed;
    callback_note(t->list, "tensorboard: %s; %s", what.text,
                  failed ? "raytrain-run --resume adds the reports that are missing"
                         : "the reports are kept, and will be written later");
}

static void catch_up_order(struct tensorboard *t)
{
    if (deferred_post(t->writer, json_null()))
        t->lost = false;
}

static void tensorboard_attempt_start(struct callback *cb, const json_t *attempt)
{
    struct tensorboard *t = cb->impl;

    (void)attempt;
    if (!t->begun)
        catch_up_order(t);
    t->begun = true;
}

static void tensorboard_report(struct callback *cb, const json_t *report)
{
    struct tensorboard *t = cb->impl;

    listen(t);
    if (t->failed)
        return;
    if (t->lost)
        catch_up_order(t);
    if (t->lost ||
        deferred_post(t->writer, json_deep_copy((json_t *)(uintptr_t)report)))
        return;
    t->lost = true;
    if (t->slow_said)
        return;
    t->slow_said = true;
    callback_note(t->list, "tensorboard: the event file falls behind: its storage is "
                           "too slow, or does not respond; it is completed from "
                           "result.json");
}

/* A stopped run is not over: it will be continued. */
static void status_post(struct tensorboard *t, const json_t *result)
{
    const char *status = json_string_value(json_object_get(result, "status"));

    if (status && strcmp(status, "finished") == 0)
        deferred_post(t->writer, json_integer(TFEVENTS_SUCCESS));
    else if (status && strcmp(status, "failed") == 0)
        deferred_post(t->writer, json_integer(TFEVENTS_FAILURE));
}

static void tensorboard_end(struct callback *cb, const json_t *result)
{
    struct tensorboard *t = cb->impl;
    bool done;

    if (!t->begun || t->lost)
        catch_up_order(t);
    status_post(t, result);
    done = deferred_finish(t->writer, TENSORBOARD_END_S);
    listen(t);
    if (!done && !t->failed)
        callback_note(t->list,
                      "tensorboard: the event file is incomplete: its storage does not "
                      "respond; raytrain-run --resume completes it");
}

static void tensorboard_destroy(struct callback *cb)
{
    struct tensorboard *t = cb->impl;

    deferred_destroy(t->writer);
    free(t);
}

const struct callback_ops callback_tensorboard = {
    .create = tensorboard_create,
    .on_attempt_start = tensorboard_attempt_start,
    .on_report = tensorboard_report,
    .on_end = tensorboard_end,
    .destroy = tensorboard_destroy,
};
