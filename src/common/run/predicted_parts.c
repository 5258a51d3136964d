/* predicted_parts.c - count the complete parts of a prediction. */
#include "run/predicted_parts.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_dir.h"

static bool is_part(const char *name)
{
    const char *number = name + strlen(RUN_PART);

    return strncmp(name, RUN_PART, strlen(RUN_PART)) == 0 && *number &&
           !number[strspn(number, "0123456789")];
}

int64_t run_parts_count(const char *run_dir)
{
    char *path = run_dir_file(run_dir, RUN_PARTS);
    DIR *dir = path ? opendir(path) : NULL;
    const struct dirent *entry;
    int64_t n = 0;

    while (dir && (entry = readdir(dir)))
        n += is_part(entry->d_name);
    if (dir)
        closedir(dir);
    free(path);
    return n;
}
