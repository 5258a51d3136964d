/* worker_env.c - write and parse the variables of a worker's environment. */
#include "protocol/worker_env.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

/* The variables and their fields: a text, or an integer of at least `least`. */
static const struct {
    const char *name;
    size_t text, number;
    int least;
} variables[] = {
    {"RAYTRAIN_RUN_DIR", offsetof(struct worker_env, run_dir), 0, 0},
    {"RAYTRAIN_ATTEMPT", 0, offsetof(struct worker_env, attempt), 0},
    {"RAYTRAIN_WORKERS", 0, offsetof(struct worker_env, workers), 1},
    {"RAYTRAIN_BACKEND", offsetof(struct worker_env, backend), 0, 0},
    {"RAYTRAIN_MARKER", offsetof(struct worker_env, marker), 0, 0},
    {"RAYTRAIN_GPUS_PER_WORKER", 0, offsetof(struct worker_env, gpus), 0},
    {"RAYTRAIN_WORKERS_PER_GPU", 0, offsetof(struct worker_env, sharing), 1},
    {"RAYTRAIN_PREDICTS", 0, offsetof(struct worker_env, predicts), 0},
};
#define N_VARIABLES (sizeof variables / sizeof variables[0])

static bool env_number_read(const char *text, int least, int *value)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    if (end == text || *end || errno || number < least || number > INT_MAX)
        return false;
    *value = (int)number;
    return true;
}

/* number: where an integer goes; NULL: the value is a text, which goes to *text. */
static int variable_decode(const char *name, int least, char **text, int *number,
                           struct error *err)
{
    const char *value = getenv(name);
    char quoted[QUOTE_TEXT_MAX];

    if (!value || !*value)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s is not set: the environment of raytrain-run did not reach "
                         "this worker",
                         name);
    if (!number)
        return (*text = strdup(value)) ? 0 : error_no_memory(err);
    if (!env_number_read(value, least, number))
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: expected an integer of at least %d, found %s", name,
                         least, quote(value, quoted));
    return 0;
}

int worker_env_decode(struct worker_env *env, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    memset(env, 0, sizeof *env);
    if (!getenv("RAYTRAIN_RUN_DIR"))
        return error_set(err, RAYTRAIN_EUSAGE,
                         "this is a worker of raytrain and was not started by "
                         "raytrain-run; type: raytrain-run PROGRAM");
    for (size_t i = 0; i < N_VARIABLES; i++) {
        char *at = (char *)env;
        char **text = (char **)(void *)(at + variables[i].text);
        int *number = (int *)(void *)(at + variables[i].number);

        if (variable_decode(variables[i].name, variables[i].least, text,
                            variables[i].number ? number : NULL, err)) {
            worker_env_clear(env);
            return -1;
        }
    }
    if (env->run_dir[0] == '/')
        return 0;
    error_set(err, RAYTRAIN_EINVAL, "RAYTRAIN_RUN_DIR: %s is not an absolute path",
              quote(env->run_dir, quoted));
    worker_env_clear(env);
    return -1;
}

int worker_env_export(const struct worker_env *env, struct error *err)
{
    for (size_t i = 0; i < N_VARIABLES; i++) {
        const char *at = (const char *)env;
        char number[16];
        const char *value = *(char *const *)(const void *)(at + variables[i].text);

        if (variables[i].number) {
            snprintf(number, sizeof number, "%d",
                     *(const int *)(const void *)(at + variables[i].number));
            value = number;
        }
        if (!value)
            return error_set(err, RAYTRAIN_EINVAL, "%s has no value",
                             variables[i].name);
        if (setenv(variables[i].name, value, 1))
            return error_set(err, RAYTRAIN_ENOMEM, "cannot set %s: %s",
                             variables[i].name, strerror(errno));
    }
    return 0;
}

void worker_env_clear(struct worker_env *env)
{
    free(env->run_dir);
    free(env->backend);
    free(env->marker);
    memset(env, 0, sizeof *env);
}
