/* worker_record.c - write, read and remove the small records of workers. */
#include "config.h"
#include "protocol/worker_record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/run_record.h"

#define STEP_NAME "step"
#define END_NAME  "end.json"

static const char *const end_words[] = {[WORKER_END_NONE] = "",
                                        [WORKER_END_FINISHED] = "finished",
                                        [WORKER_END_STOPPED] = "stopped"};

static int worker_file_write(const char *log_dir, const char *name, const char *text,
                             struct error *err)
{
    char *path = run_dir_file(log_dir, name);
    int rc;

    if (!path || !text)
        rc = error_no_memory(err);
    else
        rc = fs_write_atomic(path, text, strlen(text), 0666, err);
    free(path);
    return rc;
}

int worker_record_step(const char *log_dir, const char *step, struct error *err)
{
    return worker_file_write(log_dir, STEP_NAME, step, err);
}

int worker_record_end(const char *log_dir, enum worker_end end, int workers,
                      struct error *err)
{
    json_t *record = json_pack("{s:s, s:i, s:f}", "outcome", end_words[end], "workers",
                               workers, "time", clock_unix_double());
    char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
    int rc = worker_file_write(log_dir, END_NAME, text, err);

    free(text);
    json_decref(record);
    return rc;
}

/* JOB.STEP; JOB alone would be the whole job. */
static bool is_step(const char *text)
{
    size_t n = strlen(text), job = strspn(text, "0123456789+");

    return n < WORKER_STEP_MAX && job > 0 && text[0] != '+' && text[job] == '.' &&
           n > job + 1 && strspn(text + job + 1, "0123456789+") == n - job - 1;
}

bool worker_record_read_step(const char *log_dir, char step[WORKER_STEP_MAX])
{
    char *path = run_dir_file(log_dir, STEP_NAME), *text = NULL;
    bool found = path && record_read(path, RECORD_OF_ATTEMPT, &text, NULL, NULL) == 0 &&
                 is_step(text);

    memset(step, 0, WORKER_STEP_MAX);
    if (found)
        memcpy(step, text, strlen(text));
    free(text);
    free(path);
    return found;
}

static enum worker_end end_parse(const json_t *record, int workers)
{
    const char *word = json_string_value(json_object_get(record, "outcome"));

    if (!word || json_integer_value(json_object_get(record, "workers")) != workers)
        return WORKER_END_NONE;
    if (strcmp(word, end_words[WORKER_END_FINISHED]) == 0)
        return WORKER_END_FINISHED;
    return strcmp(word, end_words[WORKER_END_STOPPED]) == 0 ? WORKER_END_STOPPED
                                                            : WORKER_END_NONE;
}

enum worker_end worker_record_read_end(const char *log_dir, int workers)
{
    char *path = run_dir_file(log_dir, END_NAME);
    json_t *record;
    enum worker_end end;

    if (path)
        fs_look_again(path); /* it may just have been written, on another node */
    record = path ? record_read_json(path, RECORD_OF_ATTEMPT) : NULL;
    end = end_parse(record, workers);
    json_decref(record);
    free(path);
    return end;
}

void worker_record_tidy(const char *log_dir)
{
    static const char *const names[] = {STEP_NAME, END_NAME};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = run_dir_file(log_dir, names[i]);

        if (path)
            fs_remove_temps(path);
        free(path);
    }
}
