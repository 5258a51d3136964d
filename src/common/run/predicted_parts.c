/* predicted_parts.c - count the complete shards of a prediction. */
#include "run/predicted_parts.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_dir.h"

static bool is_shard(const char *name)
{
    const char *number = name + strlen(RUN_SHARD);

    return strncmp(name, RUN_SHARD, strlen(RUN_SHARD)) == 0 && *number &&
           !number[strspn(number, "0123456789")];
}

int64_t run_shards_count(const char *run_dir)
{
    char *path = run_dir_file(run_dir, RUN_SHARDS);
    DIR *dir = path ? opendir(path) : NULL;
    const struct dirent *entry;
    int64_t n = 0;

    while (dir && (entry = readdir(dir)))
        n += is_shard(entry->d_name);
    if (dir)
        closedir(dir);
    free(path);
    return n;
}
