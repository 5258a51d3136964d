/* environment.c - makes the environment of a command, and of containers in it. */
#include "command/environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/container.h"
#include "protocol/session_wire.h"
#include "rank/event.h"
#include "util/argv.h"
#include "util/installed.h"

/* ---- What does not reach the command ---- */

/* A '*' at the end: all names with this prefix. */
static const char *const hidden_names[] = {
    "PMI_*", "PMI2_*", "PMIX_*", "HYDI_*", "MPI_LOCAL*",
    /* of the step; those of the job belong to the user */
    "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
    "SLURM_STEP_*", "SLURM_STEPID", "SLURM_TASK_PID", "SLURM_GTIDS",
    "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_SRUN_COMM_*",
    "SLURM_LAUNCH_NODE_IPADDR", "SLURM_MPI_TYPE", "SLURM_PMIX_*", "SLURM_PMIXP_*",
    "SLURM_DISTRIBUTION", "SLURM_UMASK",
    /* protocol/worker_env.h */
    "RAYTRAIN_RUN_DIR", "RAYTRAIN_ATTEMPT", "RAYTRAIN_WORKERS", "RAYTRAIN_BACKEND",
    "RAYTRAIN_MARKER", "RAYTRAIN_GPUS_PER_WORKER", "RAYTRAIN_WORKERS_PER_GPU"};

static bool name_matches(const char *name, const char *pattern)
{
    size_t n = strlen(pattern);

    if (pattern[n - 1] == '*')
        return strncmp(name, pattern, n - 1) == 0;
    return strcmp(name, pattern) == 0;
}

bool command_environment_hides(const char *name)
{
    for (size_t i = 0; i < sizeof hidden_names / sizeof hidden_names[0]; i++)
        if (name_matches(name, hidden_names[i]))
            return true;
    return false;
}

static int base_copy(char *const *base, char ***env, struct error *err)
{
    for (; base && *base; base++) {
        size_t n = strcspn(*base, "=");
        char *name = strndup(*base, n);
        bool hides = name && command_environment_hides(name);

        if (!name)
            return error_no_memory(err);
        free(name);
        if (!hides && argv_append(env, *base, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- What is set ---- */

struct building {
    const raytrain_context *ctx;
    char **env;
    char **given; /* names of variables that a container gets, too */
    struct error *err;
};

/* The entry "NAME=VALUE"; NULL: it is not set. */
static char **entry_find(char **env, const char *name)
{
    size_t n = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return env;
    return NULL;
}

static const char *entry_value(const char *entry)
{
    return strchr(entry, '=') + 1;
}

static void entry_remove(char **entry)
{
    free(*entry);
    do
        entry[0] = entry[1];
    while (*++entry);
}

static void replaced_note(const raytrain_context *ctx, const char *name,
                          const char *before)
{
    if (ctx->env.world->rank == 0)
        event_add(ctx->env.log_dir, EVENT_WARNING,
                  "the environment sets %s to \"%.80s\"; the command gets the value of "
                  "this run instead",
                  name, before);
}

/* NULL removes the variable. */
static int entry_set(struct building *b, const char *name, const char *value)
{
    char **entry = entry_find(b->env, name);

    if (entry && value && strcmp(entry_value(*entry), value) == 0)
        return 0;
    if (entry) {
        if (value)
            replaced_note(b->ctx, name, entry_value(*entry));
        entry_remove(entry);
    }
    return value ? argv_appendf(&b->env, b->err, "%s=%s", name, value) : 0;
}

/* For backend_ops.environment. */
static int variable_set(void *arg, const char *name, const char *value)
{
    struct building *b = arg;

    if (entry_set(b, name, value) < 0)
        return -1;
    return value ? argv_append(&b->given, name, b->err) : 0;
}

static int number_set(struct building *b, const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    return variable_set(b, name, text);
}

static int place_set(struct building *b)
{
    const struct world *w = b->ctx->env.world;
    const struct {
        const char *name;
        int value;
    } place[] = {
        {"RANK", w->rank},
        {"WORLD_SIZE", w->size},
        {"LOCAL_RANK", w->local_rank},
        {"LOCAL_WORLD_SIZE", w->local_size},
        {"NODE_RANK", w->node_rank},
        {"GROUP_RANK", w->node_rank},
    };

    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++)
        if (number_set(b, place[i].name, place[i].value) < 0)
            return -1;
    return 0;
}

/* Append to the user's list, so that the user's entries come first. */
static int list_append(struct building *b, const char *name, char separator,
                       const char *more)
{
    char **entry = entry_find(b->env, name), *longer;

    if (!entry || !*entry_value(*entry)) {
        if (entry)
            entry_remove(entry);
        return argv_appendf(&b->env, b->err, "%s=%s", name, more);
    }
    if (asprintf(&longer, "%s%c%s", *entry, separator, more) < 0)
        return error_no_memory(b->err);
    free(*entry);
    *entry = longer;
    return 0;
}

/* By default, what Python prints reaches the log at once. */
static int python_set(struct building *b, const char *module)
{
    if (!entry_find(b->env, "PYTHONUNBUFFERED") &&
        argv_append(&b->env, "PYTHONUNBUFFERED=1", b->err) < 0)
        return -1;
    return list_append(b, "PYTHONPATH", ':', module);
}

/* ---- What a container gets ---- */

/* Bind the directories of the socket and of the module at the same paths. */
static int directories_bind(struct building *b, const char *directory,
                            const char *module)
{
    char paths[2 * PATH_MAX];

    snprintf(paths, sizeof paths, "%s,%s", directory, module);
    for (const char *const *list = container_binds; *list; list++)
        if (list_append(b, *list, ',', paths) < 0)
            return -1;
    snprintf(paths, sizeof paths, "%s:%s", directory, module);
    return entry_set(b, CONTAINER_DIRECTORIES, paths);
}

/* If NAME is set, set APPTAINERENV_NAME and the like. */
static int variable_forward(struct building *b, const char *name)
{
    char **entry = entry_find(b->env, name), *value;
    int rc = 0;

    if (!entry)
        return 0;
    value = strdup(entry_value(*entry)); /* b->env moves when it grows */
    if (!value)
        return error_no_memory(b->err);
    for (const char *const *p = container_prefixes; rc == 0 && *p; p++) {
        char *forwarded;

        if (asprintf(&forwarded, "%s%s", *p, name) < 0) {
            rc = error_no_memory(b->err);
            break;
        }
        rc = entry_set(b, forwarded, value);
        free(forwarded);
    }
    free(value);
    return rc;
}

/* Not if a path has a comma or a colon, which would end it in a list. */
static int container_set(struct building *b, const char *socket, const char *module)
{
    char directory[PATH_MAX], *names;
    int rc = 0;

    snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(socket, '/') - socket),
             socket);
    if (strpbrk(directory, ",:") || strpbrk(module, ",:"))
        return 0;
    for (const char *const *name = container_devices; *name; name++)
        if (entry_find(b->env, *name) && argv_append(&b->given, *name, b->err) < 0)
            return -1;
    if (argv_append(&b->given, "PYTHONPATH", b->err) < 0 ||
        argv_append(&b->given, "PYTHONUNBUFFERED", b->err) < 0 ||
        argv_join(b->given, &names, b->err) < 0)
        return -1;
    for (size_t i = 0; rc == 0 && b->given[i]; i++)
        rc = variable_forward(b, b->given[i]);
    if (rc == 0)
        rc = entry_set(b, CONTAINER_VARIABLES, names);
    free(names);
    return rc < 0 ? -1 : directories_bind(b, directory, module);
}

int command_environment(const raytrain_context *ctx, char *const *base,
                        const char *socket, char ***env, struct error *err)
{
    const struct backend *backend = ctx->env.backend;
    struct building b = {.ctx = ctx, .err = err};
    char module[PATH_MAX];
    int rc = 0;

    installed_python(module);
    if (base_copy(base, &b.env, err) < 0 || place_set(&b) < 0 ||
        python_set(&b, module) < 0 ||
        (backend->ops->environment &&
         backend->ops->environment(backend, variable_set, &b, err) < 0) ||
        variable_set(&b, WIRE_VARIABLE, NULL) < 0 ||
        variable_set(&b, WIRE_VARIABLE, socket) < 0 ||
        container_set(&b, socket, module) < 0)
        rc = -1;
    argv_free(b.given);
    if (rc < 0)
        argv_free(b.env);
    else
        *env = b.env;
    return rc;
}
