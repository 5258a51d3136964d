/* event.c - the events of the attempt as JSON; protocol/events.h writes them. */
#include "config.h"
#include "rank/event.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/quote.h"

/* text, checkpoint: NULL if there is none. */
static void event_put(const char *log_dir, const char *kind, const char *text,
                      const char *checkpoint)
{
    char *printable;
    json_t *event;

    if (!log_dir)
        return;
    printable = text ? printable_text(text) : NULL;
    event = json_pack("{s:f, s:s, s:s*, s:s*}", "time", clock_unix_double(), "kind",
                      kind, "text", text && !printable ? "" : printable, "checkpoint",
                      checkpoint);
    if (event)
        events_put(log_dir, event, NULL);
    json_decref(event);
    free(printable);
}

void event_add(const char *log_dir, const char *kind, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    event_put(log_dir, kind, text, NULL);
}

void event_add_sign(const char *log_dir)
{
    event_put(log_dir, EVENT_PROGRESS, NULL, NULL);
}

void event_add_total(const char *log_dir, int64_t iterations)
{
    json_t *event =
        log_dir ? json_pack("{s:f, s:s, s:I}", "time", clock_unix_double(), "kind",
                            EVENT_TOTAL, "iterations", (json_int_t)iterations)
                : NULL;

    if (event)
        events_put(log_dir, event, NULL);
    json_decref(event);
}

void event_add_gpu_error(const char *log_dir, const char *node, bool hardware,
                         const char *text)
{
    json_t *event =
        json_pack("{s:f, s:s, s:s, s:s, s:b}", "time", clock_unix_double(), "kind",
                  EVENT_GPU_ERROR, "text", text, "node", node, "hardware", hardware);

    if (event)
        events_put(log_dir, event, NULL);
    json_decref(event);
}

void event_add_restored(const char *log_dir, const char *path, long iteration)
{
    char text[ERROR_TEXT_MAX];

    snprintf(text, sizeof text, "starting from %s (iteration %ld)", path, iteration);
    event_put(log_dir, EVENT_RESTORED, text, path);
}
