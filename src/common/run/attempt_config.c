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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = fs_write_atomic(path, text, strlen(text), 0666, err);
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

static char *config_read(const char *dir)
{
    char *path = run_dir_file(dir, CONFIG_NAME), *text = NULL;

    if (path)
        record_read(path, RECORD_OF_ATTEMPT, &text, NULL, NULL);
    free(path);
    return text;
}

char *attempt_config_read(const char *run_dir, int attempt)
{
    char *log_dir = run_dir_log_dir(run_dir, attempt);
    char *text = log_dir ? config_read(log_dir) : NULL;

    free(log_dir);
    return text;
}

char *attempt_config_newest(const char *run_dir, int last)
{
    char *text = NULL;

    for (int k = last; k >= 0 && !text; k--)
        text = attempt_config_read(run_dir, k);
    return text ? text : config_read(run_dir);
}
