/* attempt_config.c - save, find and read the configuration of each attempt. */
#include "run/attempt_config.h"

#include <stdlib.h>
#include <string.h>

#include "run/run_dir.h"
#include "util/fs.h"
#include "util/run_record.h"

#define CONFIG_NAME "run.cfg"

int attempt_config_save(const char *log_dir, const char *text, struct error *err)
{
    char *path = run_dir_file(log_dir, CONFIG_NAME);
    int rc;

    if (!path)
        return error_no_memory(err);
    rc = fs_write_atomic(path, text, strlen(text), 0644, err);
    free(path);
    return rc;
}

void attempt_config_tidy(const char *log_dir)
{
    char *path = run_dir_file(log_dir, CONFIG_NAME);

    if (path)
        fs_remove_temps(path);
    free(path);
}

static char *config_read(const char *dir, unsigned depth, struct error *foreign)
{
    char *path = run_dir_file(dir, CONFIG_NAME), *text = NULL;

    if (path)
        record_read_judged(path, depth, &text, NULL, foreign, NULL);
    free(path);
    return text;
}

static char *config_of(const char *run_dir, int attempt, struct error *foreign)
{
    char *log_dir = run_dir_log_dir(run_dir, attempt);
    char *text = log_dir ? config_read(log_dir, RECORD_OF_ATTEMPT, foreign) : NULL;

    free(log_dir);
    return text;
}

char *attempt_config_read(const char *run_dir, int attempt)
{
    struct error foreign;

    return config_of(run_dir, attempt, &foreign);
}

char *attempt_config_judged(const char *run_dir, int last, struct error *foreign)
{
    char *text = NULL;

    for (int k = last; k >= 0 && !text; k--)
        text = config_of(run_dir, k, foreign);
    return text ? text : config_read(run_dir, RECORD_OF_RUN, foreign);
}

char *attempt_config_newest(const char *run_dir, int last)
{
    struct error foreign;

    return attempt_config_judged(run_dir, last, &foreign);
}
