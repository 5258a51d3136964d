#include "scratch.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/fs.h"

int scratch_enter(void **state)
{
    char *dir = strdup("/tmp/raytrain-test-XXXXXX");

    if (!dir || !mkdtemp(dir) || chdir(dir) < 0)
        return -1;
    *state = dir;
    return 0;
}

int scratch_leave(void **state)
{
    char *dir = *state;
    int rc = chdir("/") | fs_remove_tree(dir, NULL);

    free(dir);
    return rc;
}

int scratch_count(const char *path)
{
    DIR *d = opendir(path);
    int n = -2; /* . and .. */

    if (!d)
        return -1;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}
