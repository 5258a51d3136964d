/* storage_advice.c - pass the option for each place of a run's files to fs_advice.h. */
#include "config/storage_advice.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "util/fs_advice.h"

/* The directory that contains the run directory. The output of a prediction is there,
 * too. */
static void storage_of(const char *run_dir, char storage[PATH_MAX])
{
    char *slash;

    snprintf(storage, PATH_MAX, "%s", run_dir);
    slash = strrchr(storage, '/');
    if (slash)
        *slash = '\0';
}

/* A service chooses the place of its files itself, so there is no advice for it. */
void storage_advice_set(const struct train_config *cfg, const char *run_dir)
{
    const char *staging = cfg->run_config.sync_config.staging_path;
    char storage[PATH_MAX];

    storage_of(run_dir, storage);
    if (cfg->predict.output)
        fs_advice_set(storage, "choose another place with --output");
    else if (!cfg->predict.service)
        fs_advice_set(storage, "choose another place with --storage");
    if (staging)
        fs_advice_set(staging, "choose another place with the key staging_path");
    if (cfg->run_config.checkpoint_config.replicas > 0)
        fs_advice_set("/dev/shm", "keep no copies there: set the key replicas to 0");
}
