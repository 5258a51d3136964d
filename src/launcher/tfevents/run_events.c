/*
 * run_events.c - the values of a report, reports as events, the file, and catching up
 * with result.json.
 */
#include "tfevents/run_events.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/metrics.h"
#include "util/report_number.h"
#include "tfevents/event_files.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fs.h"

#define OWN         "raytrain/" /* prefix of names that are not metrics of the user */
#define TAG_ATTEMPT OWN "attempt"

#define WRITE_BYTES (1u << 20) /* above this, write before reading more old reports */
#define KEEP_BYTES  (8u << 20) /* the limit for records that cannot be written */

struct run_events {
    char *run_dir;
    json_t *parameters;

    struct record_buffer pending; /* not yet in the file */
    char *path;                   /* NULL: there is no file */
    int fd;                       /* -1: it has not been created */
    uint64_t end;                 /* of the last whole record */
    int writes;

    /* The last report in the files or pending. */
    bool known;    /* whether has_last is known */
    bool has_last; /* a report exists: */
    int attempt;
    int64_t iteration;
    bool behind; /* there are later ones in result.json */

    /* When the workers of the latest attempt started, Unix time. */
    int clock_attempt;
    double clock_start; /* 0: not known */
};

struct run_events *run_events_new(const char *run_dir, json_t *parameters)
{
    struct run_events *events = calloc(1, sizeof *events);

    if (events && parameters && (events->run_dir = strdup(run_dir))) {
        events->fd = -1;
        events->parameters = parameters;
        return events;
    }
    json_decref(parameters);
    free(events);
    return NULL;
}

void run_events_free(struct run_events *events)
{
    if (!events)
        return;
    if (events->fd >= 0)
        close(events->fd);
    record_buffer_clear(&events->pending);
    json_decref(events->parameters);
    free(events->path);
    free(events->run_dir);
    free(events);
}

/* ---- Values of a report ---- */

struct values {
    struct tfevents_value *values;
    char **tags; /* each is to be freed */
    size_t n, room;
    bool no_memory;
};

static int values_grow(struct values *all)
{
    size_t room = all->room ? 2 * all->room : 64;
    struct tfevents_value *values = reallocarray(all->values, room, sizeof *values);
    char **tags = reallocarray(all->tags, room, sizeof *tags);

    all->values = values ? values : all->values;
    all->tags = tags ? tags : all->tags;
    if (!values || !tags)
        return -1;
    all->room = room;
    return 0;
}

/* A value with the tag PREFIX NAME ENDING; NULL without memory. */
static struct tfevents_value *value_add(struct values *all, const char *prefix,
                                        const char *name, const char *ending)
{
    if ((all->n == all->room && values_grow(all) < 0) ||
        asprintf(&all->tags[all->n], "%s%s%s", prefix, name, ending) < 0) {
        all->no_memory = true;
        return NULL;
    }
    all->values[all->n] = (struct tfevents_value){.tag = all->tags[all->n]};
    return &all->values[all->n++];
}

static void values_clear(struct values *all)
{
    for (size_t i = 0; i < all->n; i++)
        free(all->tags[i]);
    free(all->tags);
    free(all->values);
}

static void number_add(struct values *all, const char *prefix, const char *name,
                       const char *ending, double value)
{
    struct tfevents_value *to = value_add(all, prefix, name, ending);

    if (to)
        to->number = value;
}

static void text_add(struct values *all, const char *name, const json_t *value)
{
    struct tfevents_value *to = value_add(all, "", name, "");

    if (to)
        to->text = json_string_value(value);
}

static void vector_add(struct values *all, const char *name, const json_t *vector)
{
    char ending[24];
    size_t i;
    json_t *element;

    if (json_array_size(vector) > RUN_EVENTS_VECTOR_MAX)
        return;
    json_array_foreach((json_t *)vector, i, element)
    {
        snprintf(ending, sizeof ending, "/%zu", i);
        number_add(all, "", name, ending, metric_value(element));
    }
}

/* ranks: {"min": ..., "max": ...}, or NULL. */
static void metric_add(struct values *all, const char *name, const json_t *report,
                       const json_t *ranks)
{
    const json_t *value = json_object_get(report, name);
    /* The vector as text, if it has infinities. */
    const json_t *whole = json_object_get(
        json_object_get(json_object_get(report, "by_rank"), name), "rank0");

    if (json_is_string(value)) {
        text_add(all, name, value);
    } else if (json_is_array(value)) {
        vector_add(all, name, json_is_array(whole) ? whole : value);
    } else if (value) {
        number_add(all, "", name, "", metric_number(report, name));
        if (json_object_get(ranks, "min"))
            number_add(all, "", name, "/min",
                       metric_value(json_object_get(ranks, "min")));
        if (json_object_get(ranks, "max"))
            number_add(all, "", name, "/max",
                       metric_value(json_object_get(ranks, "max")));
    }
}

/* What a report has besides the user's metrics that is worth a curve. */
static const char *const figures[] = {
    "attempt",     "world_size",       "time_total_s",       "time_this_iter_s",
    "data_wait_s", "checkpoint_bytes", "checkpoint_stall_s", "checkpoint_write_s",
};

static void values_collect(struct values *all, const json_t *report)
{
    bool several = json_integer_value(json_object_get(report, "world_size")) > 1;
    const char *name;
    json_t *ranks;

    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const json_t *value = json_object_get(report, figures[i]);

        if (json_is_number(value))
            number_add(all, OWN, figures[i], "", json_number_value(value));
    }
    json_object_foreach(json_object_get(report, "by_rank"), name, ranks)
    {
        metric_add(all, name, report, several ? ranks : NULL);
    }
}

/* ---- Reports as events ---- */

/* The first events of a file. */
static int file_begin(struct run_events *events, struct error *err)
{
    double now = clock_unix_double();

    if (events->path)
        return 0;
    if (event_files_remove_ends(events->run_dir, err) < 0 ||
        event_files_new(events->run_dir, &events->path, err) < 0)
        return -1;
    if (tfevents_write_head(&events->pending, now) == 0 &&
        (events->has_last || tfevents_write_start(&events->pending, now, 0) == 0) &&
        tfevents_write_hyperparameters(&events->pending, now, events->parameters,
                                       events->run_dir) == 0)
        return 0;
    free(events->path);
    events->path = NULL;
    events->pending.n = 0;
    return error_no_memory(err);
}

/* The time of a report has whole seconds, but its time since the workers started is
 * exact. */
static double wall_time(struct run_events *events, int attempt, const json_t *report)
{
    double since = json_number_value(json_object_get(report, "time_since_restore"));
    double time = json_number_value(json_object_get(report, "timestamp"));

    if (events->clock_start == 0 || events->clock_attempt != attempt ||
        fabs(events->clock_start + since - time) > 2) {
        events->clock_attempt = attempt;
        events->clock_start = time - since;
    }
    return events->clock_start + since;
}

static int report_write(struct run_events *events, int attempt, int64_t iteration,
                        const json_t *report, struct error *err)
{
    double time = wall_time(events, attempt, report);
    size_t before = events->pending.n;
    struct values values = {0};
    int rc;

    values_collect(&values, report);
    rc = values.no_memory ? -1 : 0;
    if (rc == 0 && events->has_last && iteration <= events->iteration)
        rc = tfevents_write_start(&events->pending, time, iteration);
    if (rc == 0)
        rc = tfevents_write_values(&events->pending, time, iteration, values.values,
                                   values.n);
    values_clear(&values);
    if (rc == 0)
        return 0;
    events->pending.n = before;
    return error_no_memory(err);
}

/* Attempts increase over time, and so do the iterations within each. */
int run_events_add(struct run_events *events, const json_t *report, struct error *err)
{
    int attempt = (int)json_integer_value(json_object_get(report, "attempt"));
    const json_t *iteration = json_object_get(report, "training_iteration");
    int64_t number = json_integer_value(iteration);

    if (events->pending.n > KEEP_BYTES)
        events->behind = true;
    if (events->behind || !json_is_integer(iteration) ||
        (events->has_last &&
         (attempt < events->attempt ||
          (attempt == events->attempt && number <= events->iteration))))
        return 0;
    if (file_begin(events, err) < 0 ||
        report_write(events, attempt, number, report, err) < 0) {
        events->behind = true;
        return -1;
    }
    events->has_last = true;
    events->attempt = attempt;
    events->iteration = number;
    return 0;
}

/* ---- The file ---- */

static int pending_write(struct run_events *events, struct error *err)
{
    const struct record_buffer *pending = &events->pending;

    if (pending->n == 0)
        return 0;
    if (events->fd < 0)
        events->fd = open(events->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (events->fd < 0)
        return fs_error(err, "create", events->path);
    if (fault_point("events.write", events->writes++) < 0 ||
        fs_pwrite_full(events->fd, pending->data, pending->n, events->end) < 0) {
        fs_error(err, "write", events->path);
        /* Remove the partial record; if that fails, the next write replaces it. */
        (void)!ftruncate(events->fd, (off_t)events->end);
        return -1;
    }
    events->end += pending->n;
    events->pending.n = 0;
    return 0;
}

int run_events_flush(struct run_events *events, struct error *err)
{
    if (pending_write(events, err) < 0)
        return -1;
    return events->behind ? run_events_catch_up(events, err) : 0;
}

int run_events_end(struct run_events *events, enum tfevents_status status,
                   struct error *err)
{
    double now = clock_unix_double();
    struct record_buffer end = {0};
    char *path = NULL;
    int rc = -1;

    if (!events->path)
        return 0;
    if (asprintf(&path, "%s" EVENT_FILES_END, events->path) < 0 ||
        tfevents_write_head(&end, now) < 0 ||
        tfevents_write_status(&end, now, status) < 0)
        error_no_memory(err);
    else
        rc = fs_replace(path, end.data, end.n, 0666, err);
    record_buffer_clear(&end);
    free(path);
    return rc;
}

/* ---- Catching up ---- */

struct catching {
    struct run_events *events;
    struct error *err;
    int rc;
};

/* The reports may not all fit in memory. */
static void old_report_add(void *arg, const json_t *report)
{
    struct catching *c = arg;

    if (c->rc == 0)
        c->rc = run_events_add(c->events, report, c->err);
    if (c->rc == 0 && c->events->pending.n > WRITE_BYTES)
        c->rc = pending_write(c->events, c->err);
    if (c->rc < 0)
        c->events->behind = true;
}

static int last_find(struct run_events *events, struct error *err)
{
    double attempt = 0;

    if (events->known)
        return 0;
    if (event_files_last(events->run_dir, TAG_ATTEMPT, &events->has_last,
                         &events->iteration, &attempt, err) < 0)
        return -1;
    events->attempt = (int)attempt;
    events->known = true;
    return 0;
}

int run_events_catch_up(struct run_events *events, struct error *err)
{
    struct catching c = {.events = events, .err = err};

    events->behind = true;
    if (last_find(events, err) < 0)
        return -1;
    events->behind = false;
    if (metrics_each(events->run_dir, old_report_add, &c, err) < 0)
        c.rc = -1;
    events->behind |= c.rc < 0;
    return c.rc;
}
