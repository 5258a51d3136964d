/* run_labels.c - a label for each run that no other run has. */
#include "config.h"

#include "plot/run_labels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/argv.h"

/* malloc'ed. */
static char *base_of(const char *path)
{
    char *real = realpath(path, NULL), *base;
    const char *text = real ? real : path, *slash = strrchr(text, '/');

    base = strdup(slash && slash[1] ? slash + 1 : text);
    free(real);
    return base;
}

int run_labels(char *const *paths, size_t n, char ***labels, struct error *err)
{
    char **bases = NULL;
    int rc = 0;

    *labels = NULL;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        char *base = base_of(paths[i]);

        rc = argv_append(&bases, base ? base : paths[i], err);
        free(base);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        bool twice = false;

        for (size_t j = 0; j < n; j++)
            twice = twice || (j != i && strcmp(bases[i], bases[j]) == 0);
        rc = argv_append(labels, twice ? paths[i] : bases[i], err);
    }
    argv_free(bases);
    if (rc == 0)
        return 0;
    argv_free(*labels);
    *labels = NULL;
    return -1;
}
