/* callback.c - the table of callbacks, and a list of those of a run, to which events
 * are passed. */
#include "callback/callback.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/registry.h"
#include "util/quote.h"

/* ---- The list ---- */

/* "json" does nothing: result.json is the log from which a run is resumed, and always
 * kept. */
static int json_create(struct callback *cb, const struct callback_context *context,
                       struct error *err)
{
    (void)cb;
    (void)context;
    (void)err;
    return 0;
}

const struct callback_ops callback_json = {.create = json_create};

static bool is_silent(const struct options *opt)
{
    return opt->quiet || opt->progress == PROGRESS_NONE;
}

bool callback_draws(const struct options *opt)
{
    return !is_silent(opt) && progress_draws(opt);
}

/* Indexed by enum callback_kind. */
#define CALLBACK(name) &callback_##name,
static const struct callback_ops *const kinds[] = {CALLBACKS(CALLBACK)};

int callback_list_add(struct callback_list *list, const struct callback_ops *ops,
                      const struct callback_context *context, struct error *err)
{
    struct callback *more;

    if (ops->passes_on && context->finished)
        return 0;
    more = realloc(list->callbacks, (list->n + 1) * sizeof *list->callbacks);
    if (!more)
        return error_no_memory(err);
    list->callbacks = more;
    more[list->n] = (struct callback){.ops = ops};
    if (ops->create(&more[list->n], context, err) < 0)
        return -1;
    list->n++;
    return 0;
}

int callback_list_create(struct callback_list *list,
                         const struct callback_context *context, struct error *err)
{
    const struct callbacks_config *cfg = &context->cfg->run_config.callbacks;
    struct callback_context own = *context;
    int rc;

    *list = (struct callback_list){0};
    own.list = list;
    rc = callback_list_add(
        list, is_silent(context->opt) ? &callback_notes : &callback_progress, &own,
        err);
    for (size_t i = 0; rc == 0 && i < cfg->n; i++) {
        own.config = &cfg->list[i];
        rc = callback_list_add(list, kinds[own.config->kind], &own, err);
    }
    own.config = NULL;
    if (rc == 0 && getenv(CALLBACK_FIT_VARIABLE))
        rc = callback_list_add(list, &callback_fit_events, &own, err);
    if (rc < 0)
        callback_list_destroy(list);
    return rc;
}

void callback_list_destroy(struct callback_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->callbacks[i].ops->destroy)
            list->callbacks[i].ops->destroy(&list->callbacks[i]);
    free(list->callbacks);
    *list = (struct callback_list){0};
}

/* ---- Events ---- */

#define CALL_ALL(list, slot, argument)                                                 \
    for (size_t i = 0; i < (list)->n; i++)                                             \
        if ((list)->callbacks[i].ops->slot)                                            \
    (list)->callbacks[i].ops->slot(&(list)->callbacks[i], argument)

bool callback_failed(const struct callback_list *list, char *text, size_t size)
{
    for (size_t i = 0; i < list->n; i++) {
        struct callback *cb = &list->callbacks[i];

        if (cb->ops->failed && cb->ops->failed(cb, text, size))
            return true;
    }
    return false;
}

void callback_list_continue(struct callback_list *list, int64_t iteration)
{
    list->reported = true;
    list->last_reported = iteration;
}

void callback_attempt_start(struct callback_list *list, const json_t *attempt)
{
    CALL_ALL(list, on_attempt_start, attempt);
}

static bool hears_reports(const struct callback_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->callbacks[i].ops->on_report)
            return true;
    return false;
}

static void report_pass_on(const struct callback_list *list, const json_t *report,
                           const json_t *workers)
{
    for (size_t i = 0; i < list->n; i++) {
        struct callback *cb = &list->callbacks[i];

        if (workers && cb->ops->on_worker_reports)
            cb->ops->on_worker_reports(cb, report, workers);
        else if (cb->ops->on_report)
            cb->ops->on_report(cb, report);
    }
}

void callback_report(struct callback_list *list, struct logged_report *report)
{
    const json_t *json;

    if (list->reported && report->iteration <= list->last_reported)
        CALL_ALL(list, on_rewind, report->iteration - 1);
    list->reported = true;
    list->last_reported = report->iteration;
    if (hears_reports(list) && (json = logged_report_json(report)))
        report_pass_on(list, json, logged_report_workers(report));
}

void callback_total(struct callback_list *list, int64_t iterations)
{
    CALL_ALL(list, on_total, iterations);
}

/* Indents a message from another program or script, such as a traceback. NULL: it is
 * indented already, or out of memory. */
static char *note_indent(const char *text)
{
    for (const char *at = text; (at = strchr(at, '\n'));)
        if (*++at && *at != '\n' && strncmp(at, "  ", 2) != 0)
            return indented_lines(text, "  ");
    return NULL;
}

void callback_note(struct callback_list *list, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX], *indented;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    indented = note_indent(text);
    if (list)
        CALL_ALL(list, on_note, indented ? indented : text);
    free(indented);
}

void callback_live(struct callback_list *list, const char *line)
{
    CALL_ALL(list, on_live, line);
}

void callback_attempt_end(struct callback_list *list, const json_t *attempt)
{
    CALL_ALL(list, on_attempt_end, attempt);
}

void callback_end(struct callback_list *list, const json_t *result)
{
    CALL_ALL(list, on_end, result);
}
