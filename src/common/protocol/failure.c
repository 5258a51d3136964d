/* failure.c - a failure as JSON and back, and the files of failures. */
#include "protocol/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_dir.h"
#include "util/fs.h"
#include "util/quote.h"
#include "util/run_record.h"

#define FILE_NAME "error.json"

const char *attempt_cause_name(enum attempt_cause cause)
{
    static const char *const names[] = {
        "worker",     "oom",       "hang",   "start",  "node_lost", "gpu",
        "time_limit", "preempted", "resize", "signal", "callback"};

    return names[cause];
}

/* ---- Kinds ---- */

const char *failure_kind(raytrain_status code)
{
    switch (code) {
    case RAYTRAIN_ESTORAGE:
    case RAYTRAIN_ECORRUPT:
        return "storage";
    case RAYTRAIN_EINVAL:
    case RAYTRAIN_ETYPE:
    case RAYTRAIN_ENOTFOUND:
    case RAYTRAIN_ENOTSUP:
    case RAYTRAIN_EUSAGE:
    case RAYTRAIN_EFIT:
        return "config";
    case RAYTRAIN_ECOMM:
        return "comm";
    case RAYTRAIN_ENOMEM:
        return "memory";
    default:
        return "train_func";
    }
}

/* The kind decides first, for the exit status of a training function may be
 * anything. */
static raytrain_status code_of(const char *kind, int exit_status)
{
    static const char *const training[] = {"train_func", "exit", "signal", "comm"};

    for (size_t i = 0; i < sizeof training / sizeof training[0]; i++)
        if (strcmp(kind, training[i]) == 0)
            return RAYTRAIN_EFAILED;
    switch (exit_status) {
    case 2:
    case 3:
        return RAYTRAIN_EINVAL;
    case 4:
        return RAYTRAIN_EFIT;
    case 5:
        return RAYTRAIN_ESTORAGE;
    default:
        return RAYTRAIN_EFAILED;
    }
}

/* ---- As JSON ---- */

json_t *failure_json(const struct failure *f)
{
    return json_pack("{s:o, s:i, s:o, s:i, s:i}", "message", json_text(f->message),
                     "rank", f->rank, "host", json_text(f->host), "signal", f->signal,
                     "exit_status", f->exit_status);
}

static void record_text_take(const json_t *record, const char *key, char *out,
                             size_t size)
{
    const char *value = json_string_value(json_object_get(record, key));

    if (value)
        snprintf(out, size, "%s", value);
}

static void integer_take(const json_t *record, const char *key, int *out)
{
    json_t *value = json_object_get(record, key);

    if (json_is_integer(value))
        *out = (int)json_integer_value(value);
}

static void failure_take(const json_t *record, struct failure *f)
{
    integer_take(record, "rank", &f->rank);
    integer_take(record, "exit_status", &f->exit_status);
    record_text_take(record, "host", f->host, sizeof f->host);
    record_text_take(record, "kind", f->kind, sizeof f->kind);
    snprintf(f->message, sizeof f->message, "no reason given");
    record_text_take(record, "message", f->message, sizeof f->message);
    f->code = code_of(f->kind, f->exit_status);
    f->final = f->code != RAYTRAIN_EFAILED;
}

/* ---- The file ---- */

char *failure_path(const char *log_dir)
{
    return run_dir_file(log_dir, FILE_NAME);
}

bool failure_read(const char *log_dir, struct failure *failure)
{
    char *path = failure_path(log_dir);
    json_t *record = path ? record_read_json(path, RECORD_OF_ATTEMPT) : NULL;
    bool found = json_is_object(record);

    if (found)
        failure_take(record, failure);
    json_decref(record);
    free(path);
    return found;
}

void failure_tidy(const char *log_dir)
{
    char *path = failure_path(log_dir);

    if (path)
        fs_remove_temps(path);
    free(path);
}
