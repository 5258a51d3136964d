#include "config.h"

#include "checkpoint/checkpoint_name.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_FORMAT CHECKPOINT_PREFIX "%06" PRId64 "%s"

char *checkpoint_name_path(const char *dir, int64_t iteration, const char *ending)
{
    char *path;

    return asprintf(&path, "%s/" NAME_FORMAT, dir, iteration, ending) < 0 ? NULL : path;
}

int64_t checkpoint_name_iteration(const char *name, const char *ending)
{
    const char *digits = name + strlen(CHECKPOINT_PREFIX);
    char expected[64];
    int64_t k;

    if (strncmp(name, CHECKPOINT_PREFIX, strlen(CHECKPOINT_PREFIX)) != 0 ||
        !isdigit((unsigned char)*digits))
        return -1;
    errno = 0;
    k = strtoll(digits, NULL, 10);
    if (errno)
        return -1;
    snprintf(expected, sizeof expected, NAME_FORMAT, k, ending);
    return strcmp(name, expected) == 0 ? k : -1;
}

int iteration_ascending(const void *a, const void *b)
{
    const int64_t *p = a, *q = b;

    return (*p > *q) - (*p < *q);
}

int iteration_descending(const void *a, const void *b)
{
    return iteration_ascending(b, a);
}
