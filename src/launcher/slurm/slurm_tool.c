/* slurm_tool.c - a command's environment, its output through a pipe, and questions
 * repeated while the controller is away. */
#include "config.h"

#include "slurm/slurm_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/batch_system.h"
#include "slurm/configuration.h"
#include "util/argv.h"
#include "event/attention.h"
#include "util/child.h"
#include "util/clock.h"
#include "util/path_search.h"
#include "util/quote.h"

extern char **environ;

#define OUTPUT_MAX   (64u << 20) /* larger than any plausible answer */
#define TOOL_ANSWER_MAX_S 30.0        /* then a question counts as unanswered */
#define LOOK_S       0.05        /* how often a running command is polled */
#define PAUSE_MAX_S  10.0        /* the longest pause between questions */

/* ---- Environment ---- */

/* Variables with these prefixes are removed ... */
static const char *const tool_env_cleared[] = {
    "SQUEUE_",  "SINFO_", "SCONTROL_",
    "SCANCEL_", "SLURM_", /* SLURM_JSON, SLURM_BITSTR_LEN, SLURM_DEBUG_FLAGS, ... */
};

/* ... except those that locate the controller and authenticate the user. */
static const char *const tool_env_kept[] = {
    "SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_JWT=", "SLURM_WORKING_CLUSTER="};

static bool begins_with_one_of(const char *entry, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(entry, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

/* SLURM_CLUSTERS, the cluster that a command asks, is also a user's setting, unless the
 * allocation is on another cluster than the local one. */
static bool tool_entry_stays(const char *entry)
{
    static const char clusters[] = "SLURM_CLUSTERS=";

    if (strncmp(entry, clusters, sizeof clusters - 1) == 0)
        return getenv("SLURM_WORKING_CLUSTER") != NULL;
    return !begins_with_one_of(entry, tool_env_cleared,
                               sizeof tool_env_cleared / sizeof *tool_env_cleared) ||
           begins_with_one_of(entry, tool_env_kept,
                              sizeof tool_env_kept / sizeof *tool_env_kept);
}

bool slurm_tool_exists(const char *name)
{
    char *path = path_search(name);

    free(path);
    return path != NULL;
}

int slurm_tool_env(char ***out, struct error *err)
{
    char **env = NULL;
    int rc = argv_append(&env, "SLURM_TIME_FORMAT=%s", err);

    for (char **e = environ; rc == 0 && *e; e++)
        if (tool_entry_stays(*e))
            rc = argv_append(&env, *e, err);
    if (rc < 0)
        argv_free(env);
    else
        *out = env;
    return rc;
}

/* ---- A command ---- */

struct slurm_tool {
    char name[32];
    struct child child;
    int fd; /* its output */
    bool eof;
    bool nowhere; /* it failed because this machine has no Slurm configuration */
    char *text;
    size_t used, room;
};

static int tool_spawn(struct slurm_tool *t, const struct slurm_tool_spec *spec,
                      struct error *err)
{
    char **env = NULL;
    int fds[2], rc;

    if (!spec->env && slurm_tool_env(&env, err) < 0)
        return -1;
    if (pipe2(fds, O_CLOEXEC) < 0) {
        argv_free(env);
        return error_set(err, RAYTRAIN_ENOMEM, "cannot make a pipe: %s",
                         strerror(errno));
    }
    t->fd = fds[0];
    rc = child_spawn(&(struct child_spec){.argv = spec->argv,
                                          .env = spec->env ? spec->env : env,
                                          .in = spec->in,
                                          .out = fds[1],
                                          .err = fds[1],
                                          .die_with_parent = true},
                     &t->child, err);
    close(fds[1]);
    argv_free(env);
    if (rc < 0) {
        if (err)
            err->code = RAYTRAIN_ENOTSUP;
        return error_prefix(err, "Slurm's commands are needed here");
    }
    if (fcntl(t->fd, F_SETFL, O_NONBLOCK) < 0)
        return error_set(err, RAYTRAIN_ENOMEM, "cannot read from %s: %s", t->name,
                         strerror(errno));
    return 0;
}

static int tool_spec_start(const struct slurm_tool_spec *spec, struct slurm_tool **out,
                           struct error *err)
{
    struct slurm_tool *t;

    if (slurm_configuration_check(err) < 0)
        return -1;
    if (!(t = calloc(1, sizeof *t)))
        return error_no_memory(err);
    snprintf(t->name, sizeof t->name, "%s", spec->argv[0]);
    t->child = (struct child)CHILD_INIT;
    t->fd = -1;
    if (tool_spawn(t, spec, err) < 0) {
        slurm_tool_destroy(t);
        return -1;
    }
    *out = t;
    return 0;
}

int slurm_tool_start(char *const *argv, struct slurm_tool **out, struct error *err)
{
    return tool_spec_start(&(struct slurm_tool_spec){.argv = argv, .in = -1}, out, err);
}

void slurm_tool_destroy(struct slurm_tool *t)
{
    if (!t)
        return;
    child_clear(&t->child);
    if (t->fd >= 0)
        close(t->fd);
    free(t->text);
    free(t);
}

static int text_grow(struct slurm_tool *t, struct error *err)
{
    size_t room = t->room ? 2 * t->room : 4096;
    char *grown = room <= OUTPUT_MAX ? realloc(t->text, room) : NULL;

    if (!grown)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for the answer of %s",
                         t->name);
    t->text = grown;
    t->room = room;
    return 0;
}

/* Read all that is available now. */
static int text_read(struct slurm_tool *t, struct error *err)
{
    while (!t->eof) {
        ssize_t n;

        if (t->room - t->used < 2 && text_grow(t, err) < 0)
            return -1;
        n = read(t->fd, t->text + t->used, t->room - t->used - 1);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n > 0)
            t->used += (size_t)n;
        else
            t->eof = n == 0 || errno != EINTR;
    }
    return 0;
}

/* An error with the command's own output, which may have several lines. */
static int fail_tool(const struct slurm_tool *t, struct error *err)
{
    char *said = printable_lines(t->text, "  ");

    error_set(err, RAYTRAIN_ENOTSUP, "%s failed: %.3000s", t->name,
              said && *said ? said : "it gave no reason");
    free(said);
    return -1;
}

int slurm_tool_poll(struct slurm_tool *t, bool *done, char **text, struct error *err)
{
    bool gone = false;
    int status = 0;

    *done = false;
    if (text_read(t, err) < 0 ||
        (t->eof && child_reap(&t->child, &gone, &status, err) < 0))
        return -1;
    if (!gone)
        return 0;
    t->text[t->used] = '\0';
    t->nowhere = status != 0 && slurm_configuration_is_missing(t->text);
    if (t->nowhere)
        return slurm_configuration_missing(err);
    if (status != 0)
        return fail_tool(t, err);
    *text = t->text;
    t->text = NULL;
    *done = true;
    return 0;
}

void slurm_tool_wait(const struct slurm_tool *t, int ms)
{
    attention_wait(t->eof ? t->child.pidfd : t->fd, ms);
}

/* *nowhere: the answer will not change. */
static int tool_answer(const struct slurm_tool_spec *spec, double limit_s, char **text,
                       bool *nowhere, struct error *err)
{
    double until = clock_now() + limit_s, left;
    struct slurm_tool *t = NULL;
    bool done = false;
    int rc = tool_spec_start(spec, &t, err);

    while (rc == 0 && !done) {
        left = until - clock_now();
        slurm_tool_wait(t, left > 0 ? (int)(left * 1e3) + 1 : 0);
        rc = slurm_tool_poll(t, &done, text, err);
        if (rc == 0 && !done && attention_is_called())
            rc = error_set(err, RAYTRAIN_ESTOPPED, "asked to stop while waiting for %s",
                           t->name);
        else if (rc == 0 && !done && left <= 0)
            rc = error_set(err, RAYTRAIN_ENOTSUP, "%s has not answered for %.0f s",
                           t->name, limit_s);
    }
    *nowhere = t && t->nowhere;
    slurm_tool_destroy(t);
    return rc;
}

int slurm_tool_answer(const struct slurm_tool_spec *spec, double limit_s, char **text,
                      struct error *err)
{
    bool nowhere;

    return tool_answer(spec, limit_s, text, &nowhere, err);
}

int slurm_tool_read(char *const *argv, double limit_s, char **text, struct error *err)
{
    return slurm_tool_answer(&(struct slurm_tool_spec){.argv = argv, .in = -1}, limit_s,
                             text, err);
}

/* ---- A controller that is away ---- */

static bool wait_simply(void *arg, double seconds)
{
    (void)arg;
    attention_wait(-1, (int)(seconds * 1e3));
    return !attention_is_called();
}

/* Ask a question that needs only the controller. A command that cannot be started tells
 * nothing about the controller. */
static bool controller_is_away(launcher_wait *wait, void *arg)
{
    char *argv[] = {(char *)"scontrol", (char *)"show", (char *)"config", NULL};
    double until = clock_now() + TOOL_ANSWER_MAX_S;
    struct slurm_tool *t = NULL;
    char *text = NULL;
    bool done = false;

    if (slurm_tool_start(argv, &t, NULL) < 0)
        return false;
    while (!done && clock_now() < until && wait(arg, LOOK_S))
        if (slurm_tool_poll(t, &done, &text, NULL) < 0)
            break;
    slurm_tool_destroy(t);
    free(text);
    return !done;
}

static void away_report(void)
{
    char text[128];

    snprintf(text, sizeof text,
             "Slurm's controller does not answer: retrying for up to %.0f s",
             batch_patience()->seconds);
    if (batch_patience()->say)
        batch_patience()->say(text);
}

/* True: it is back. */
static bool return_await(double until, launcher_wait *wait, void *arg)
{
    for (double pause = 0.25; clock_now() < until && wait(arg, pause);
         pause = 2 * pause < PAUSE_MAX_S ? 2 * pause : PAUSE_MAX_S)
        if (!controller_is_away(wait, arg))
            return true;
    return false;
}

int slurm_ask(char *const *argv, char **text, struct error *err)
{
    double until = clock_now() + batch_patience()->seconds;
    const struct slurm_tool_spec spec = {.argv = argv, .in = -1};
    bool answered = false, reported = false, nowhere;

    while (tool_answer(&spec, TOOL_ANSWER_MAX_S, text, &nowhere, err) < 0) {
        if (batch_patience()->seconds <= 0 || answered || nowhere ||
            attention_is_called())
            return -1;
        /* It may be back by now, so ask this question once more. */
        answered = !controller_is_away(wait_simply, NULL);
        if (answered)
            continue;
        if (!reported)
            away_report();
        reported = true;
        if (!return_await(until, wait_simply, NULL) && !attention_is_called())
            return error_prefix(err, "Slurm's controller has not answered for %.0f s",
                                batch_patience()->seconds);
    }
    return 0;
}

bool slurm_controller_await(launcher_wait *wait, void *arg)
{
    if (batch_patience()->seconds <= 0 || !controller_is_away(wait, arg))
        return false;
    away_report();
    return_await(clock_now() + batch_patience()->seconds, wait, arg);
    return true;
}
