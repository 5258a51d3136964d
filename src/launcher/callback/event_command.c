/*
 * event_command.c - "command": a program of the user gets each event as a line of JSON
 * on its standard input (raytrain.cfg(5) lists the events). "library": the program is
 * raytrain-callback, which passes the events to functions in a shared object, so that
 * they cannot harm the run.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "callback/callback.h"
#include "callback/listener.h"
#include "util/argv.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/installed.h"
#include "util/quote.h"

#define EVENT_KIND(name) EVENT_##name,
enum callback_event { CALLBACK_EVENTS(EVENT_KIND) EVENT_KINDS };
static const char *const event_names[] = {CALLBACK_EVENTS(REGISTRY_WORD)};

struct command {
    struct listener *listener;
    const struct callback_config *cfg;
    char **argv;       /* the program and its arguments */
    char *what;        /* its name in messages */
    unsigned int mask; /* the events that it gets */
};

/* ---- Events ---- */

static bool wants(const struct command *c, enum callback_event event)
{
    return c->mask & 1u << event;
}

/* The line of an event; takes ownership of the members. NULL without memory. */
static char *event_line(enum callback_event event, json_t *members)
{
    json_t *all = json_pack("{s:s, s:f}", "event", event_names[event], "time",
                            clock_unix_double());
    char *line = NULL;

    if (all && members && json_object_update(all, members) == 0)
        line = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(all);
    json_decref(members);
    return line;
}

/* Without memory, the event is dropped. */
static void command_event_send(struct command *c, enum callback_event event,
                               json_t *members)
{
    char *line = event_line(event, members);

    if (line)
        listener_send(c->listener, line, event != EVENT_report);
    free(line);
}

static json_t *copy_of(const json_t *value)
{
    return json_incref((json_t *)(uintptr_t)value);
}

static void command_attempt_start(struct callback *cb, const json_t *attempt)
{
    struct command *c = cb->impl;

    if (wants(c, EVENT_attempt_start))
        command_event_send(c, EVENT_attempt_start,
                           json_pack("{s:o}", "attempt", copy_of(attempt)));
}

static void command_rewind(struct callback *cb, int64_t iteration)
{
    struct command *c = cb->impl;

    if (wants(c, EVENT_rewind))
        command_event_send(
            c, EVENT_rewind,
            json_pack("{s:I}", "training_iteration", (json_int_t)iteration));
}

static void command_report(struct callback *cb, const json_t *report)
{
    struct command *c = cb->impl;
    json_t *iteration = json_object_get(report, "training_iteration");
    json_t *checkpoint = json_object_get(report, "checkpoint");

    if (wants(c, EVENT_report) && json_integer_value(iteration) % c->cfg->every == 0)
        command_event_send(c, EVENT_report,
                           json_pack("{s:o}", "report", copy_of(report)));
    if (wants(c, EVENT_checkpoint) && json_is_string(checkpoint))
        command_event_send(c, EVENT_checkpoint,
                           json_pack("{s:O, s:O}", "training_iteration", iteration,
                                     "checkpoint", checkpoint));
}

static void command_note(struct callback *cb, const char *text)
{
    struct command *c = cb->impl;

    if (wants(c, EVENT_note))
        command_event_send(c, EVENT_note, json_pack("{s:o}", "text", json_text(text)));
}

static void command_attempt_end(struct callback *cb, const json_t *attempt)
{
    struct command *c = cb->impl;

    if (wants(c, EVENT_attempt_end))
        command_event_send(c, EVENT_attempt_end,
                           json_pack("{s:o}", "attempt", copy_of(attempt)));
}

static void command_end(struct callback *cb, const json_t *result)
{
    struct command *c = cb->impl;
    char *line =
        wants(c, EVENT_end)
            ? event_line(EVENT_end, json_pack("{s:o}", "result", copy_of(result)))
            : NULL;

    listener_finish(c->listener, line, c->cfg->grace_s);
    free(line);
}

/* ---- Create and destroy ---- */

static unsigned int events_mask(const struct callback_config *cfg)
{
    unsigned int mask = 0;

    for (int i = 0; i < EVENT_KINDS; i++)
        for (size_t k = 0; k < cfg->n_events; k++)
            if (strcasecmp(event_names[i], cfg->events[k]) == 0)
                mask |= 1u << i;
    return cfg->events ? mask : (1u << EVENT_KINDS) - 1;
}

/* Among several with the same name, all but the first get a number. */
static int name_find(const struct callback_context *context, const char *program,
                     char **name)
{
    const struct callbacks_config *all = &context->cfg->run_config.callbacks;
    const char *base = strrchr(program, '/');
    int number = 1;

    base = base ? base + 1 : program;
    for (const struct callback_config *one = all->list; one < context->config; one++) {
        const char *other = one->kind == CALLBACK_command   ? one->argv[0]
                            : one->kind == CALLBACK_library ? one->path
                                                            : NULL;
        const char *slash = other ? strrchr(other, '/') : NULL;

        if (other && strcmp(slash ? slash + 1 : other, base) == 0)
            number++;
    }
    return number == 1 ? asprintf(name, "%s", base)
                       : asprintf(name, "%s-%d", base, number);
}

static void command_free(struct command *c)
{
    listener_destroy(c->listener);
    argv_free(c->argv);
    free(c->what);
    free(c);
}

static void command_start_send(struct command *c,
                               const struct callback_context *context)
{
    if (wants(c, EVENT_start))
        command_event_send(c, EVENT_start,
                           json_pack("{s:o, s:o}", "run",
                                     json_text(context->cfg->run_config.name), "path",
                                     json_text(context->run_dir)));
}

/* Takes ownership of argv. program: for messages. */
static int start(struct callback *cb, const struct callback_context *context,
                 const char *kind, const char *program, char **argv, struct error *err)
{
    struct command *c = calloc(1, sizeof *c);
    char *name = NULL, *shown = printable_text(program);
    int rc = -1;

    if (c) {
        c->cfg = context->config;
        c->argv = argv;
        c->mask = events_mask(c->cfg);
    } else {
        argv_free(argv);
    }
    if (!c || !shown || asprintf(&c->what, "%s %s", kind, shown) < 0 ||
        name_find(context, program, &name) < 0)
        error_no_memory(err);
    else
        rc = listener_start(c->argv, c->what, name, context, &c->listener, err);
    free(shown);
    free(name);
    if (rc < 0) {
        if (c)
            command_free(c);
        return -1;
    }
    cb->impl = c;
    command_start_send(c, context);
    return 0;
}

static int command_create(struct callback *cb, const struct callback_context *context,
                          struct error *err)
{
    const struct callback_config *cfg = context->config;
    char **argv = NULL;

    for (size_t i = 0; i < cfg->n_argv; i++)
        if (argv_append(&argv, cfg->argv[i], err) < 0) {
            argv_free(argv);
            return -1;
        }
    if (start(cb, context, "callback", cfg->argv[0], argv, err) == 0)
        return 0;
    return error_prefix(err, "run_config.callbacks.command.argv");
}

static int library_argv(const struct callback_config *cfg, char ***argv,
                        struct error *err)
{
    char program[PATH_MAX];
    int rc;

    if (installed_program("raytrain-callback", program, sizeof program, err) < 0)
        return -1;
    rc = argv_append(argv, program, err);
    if (rc == 0)
        rc = argv_append(argv, cfg->path, err);
    for (size_t i = 0; rc == 0 && i < cfg->n_argv; i++)
        rc = argv_append(argv, cfg->argv[i], err);
    return rc;
}

static int library_create(struct callback *cb, const struct callback_context *context,
                          struct error *err)
{
    const struct callback_config *cfg = context->config;
    char **argv = NULL;

    if (path_check_file("run_config.callbacks.library.path", cfg->path, err))
        return -1;
    if (library_argv(cfg, &argv, err) < 0) {
        argv_free(argv);
        return -1;
    }
    return start(cb, context, "callback", cfg->path, argv, err);
}

static void command_destroy(struct callback *cb)
{
    command_free(cb->impl);
}

#define EVENT_OPS                                                                      \
    .passes_on = true, .on_attempt_start = command_attempt_start,                      \
    .on_rewind = command_rewind, .on_report = command_report, .on_note = command_note, \
    .on_attempt_end = command_attempt_end, .on_end = command_end,                      \
    .destroy = command_destroy

const struct callback_ops callback_command = {.create = command_create, EVENT_OPS};
const struct callback_ops callback_library = {.create = library_create, EVENT_OPS};
