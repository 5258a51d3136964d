/* fs_advice.c - the list of directories and of the options that chose them. */
#include "util/fs_advice.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PLACES_MAX 8

static struct {
    char dir[PATH_MAX];
    size_t n; /* its length, without slashes at the end */
    const char *way;
} places[PLACES_MAX];

void fs_advice_set(const char *dir, const char *way)
{
    size_t i = 0;

    if (strlen(dir) >= PATH_MAX) /* no file can be there */
        return;
    while (i < PLACES_MAX - 1 && places[i].way && strcmp(places[i].dir, dir) != 0)
        i++;
    snprintf(places[i].dir, PATH_MAX, "%s", dir);
    places[i].n = strlen(dir);
    while (places[i].n > 0 && dir[places[i].n - 1] == '/')
        places[i].n--;
    places[i].way = way;
}

const char *fs_advice(const char *path)
{
    const char *way = "choose another place";
    size_t longest = 0;

    if (strstr(path, "/" PRIVATE_DIR_PREFIX))
        return "choose another place with TMPDIR";
    for (size_t i = 0; i < PLACES_MAX && places[i].way; i++) {
        size_t n = places[i].n;

        if (n >= longest && strncmp(path, places[i].dir, n) == 0 &&
            (path[n] == '/' || path[n] == '\0')) {
            longest = n;
            way = places[i].way;
        }
    }
    return way;
}
