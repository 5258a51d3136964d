/*
 * raytrain-callback.c - loads a callback in C (raytrain_callback.h), and calls its
 * functions for each line that raytrain-run writes (launcher/callback/event_command.c).
 *
 *     raytrain-callback FILE.so [ARG]...
 */
#include <dlfcn.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raytrain_callback.h"
#include "util/report_number.h"

struct raytrain_callback_report {
    const json_t *values;
    char *text; /* result of raytrain_callback_json(); NULL: not asked for yet */
};

/* ---- What a callback calls ---- */

int64_t raytrain_callback_iteration(const raytrain_callback_report *report)
{
    return json_integer_value(json_object_get(report->values, "training_iteration"));
}

int raytrain_callback_number(const raytrain_callback_report *report, const char *name,
                             double *value)
{
    if (!metric_is_number(report->values, name))
        return -1;
    *value = metric_number(report->values, name);
    return 0;
}

const char *raytrain_callback_text(const raytrain_callback_report *report,
                                   const char *name)
{
    return json_string_value(json_object_get(report->values, name));
}

const char *raytrain_callback_json(const raytrain_callback_report *report)
{
    raytrain_callback_report *r = (raytrain_callback_report *)(uintptr_t)report;

    if (!r->text)
        r->text = json_dumps(r->values, JSON_COMPACT | JSON_REAL_PRECISION(17));
    return r->text ? r->text : "";
}

/* ---- Lines ---- */

static void report_pass(const raytrain_callback *cb, void *self, const json_t *event)
{
    raytrain_callback_report report = {.values = json_object_get(event, "report")};

    if (cb->on_report)
        cb->on_report(self, &report);
    free(report.text);
}

static const char *member_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static void event_pass(const raytrain_callback *cb, void *self, const json_t *event,
                       const char *line)
{
    const char *kind = member_text(event, "event");

    if (strcmp(kind, "report") == 0) {
        report_pass(cb, self, event);
    } else if (strcmp(kind, "start") == 0) {
        if (cb->on_start)
            cb->on_start(self, member_text(event, "run"), member_text(event, "path"));
    } else if (strcmp(kind, "end") == 0) {
        if (cb->on_end)
            cb->on_end(self, member_text(json_object_get(event, "result"), "status"),
                       line);
    } else if (cb->on_event) {
        cb->on_event(self, kind, line);
    }
}

static void lines_pass(const raytrain_callback *cb, void *self)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    while ((n = getline(&line, &room, stdin)) > 0) {
        json_t *event;

        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        event = json_loads(line, 0, NULL);
        if (event)
            event_pass(cb, self, event, line);
        json_decref(event);
        fflush(stdout);
    }
    free(line);
}

/* ---- The shared object ---- */

static int callback_fail(const char *path, const char *why)
{
    fprintf(stderr, "raytrain-callback: %s: %s\n", path, why);
    return 3;
}

int main(int argc, char *argv[])
{
    const raytrain_callback *(*library)(void);
    const raytrain_callback *cb;
    void *object, *self = NULL;

    if (argc < 2) {
        fputs(
            "raytrain-callback: usage: raytrain-callback FILE.so [ARG]... This program "
            "is for raytrain-run only.\n",
            stderr);
        return 2;
    }
    object = dlopen(argv[1], RTLD_NOW);
    if (!object)
        return callback_fail("cannot load it", dlerror());
    *(void **)&library = dlsym(object, "raytrain_callback_library");
    if (!library)
        return callback_fail(argv[1], "it has no function raytrain_callback_library()");
    cb = library();
    if (!cb || cb->version != RAYTRAIN_CALLBACK_VERSION)
        return callback_fail(
            argv[1], "it is for another version of raytrain_callback.h; compile "
                     "it again");
    if (cb->create && cb->create(argc - 1, argv + 1, &self) != 0)
        return callback_fail(argv[1], "its create function has failed");
    lines_pass(cb, self);
    if (cb->destroy)
        cb->destroy(self);
    return 0;
}
