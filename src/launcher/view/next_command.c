/* next_command.c - quoting for a shell, and a search for the program in PATH. */
#include "view/next_command.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/argv.h"
#include "util/path_search.h"

static bool is_program(const char *directory, int n, const char *program)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%.*s/%s", n, directory, program);

    return length > 0 && length < (int)sizeof path && access(path, X_OK) == 0;
}

static bool is_found(const char *program)
{
    char *path = path_search(program);

    free(path);
    return path != NULL;
}

/* DIRECTORY/program beside the running program; "" if it does not exist. */
static void beside(const char *program, char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    path[0] = '\0';
    if (n <= 0)
        return;
    self[n] = '\0';
    slash = strrchr(self, '/');
    if (slash && is_program(self, (int)(slash - self), program) &&
        snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - self), self, program) >=
            PATH_MAX)
        path[0] = '\0';
}

char *next_command(const char *program, const char *path)
{
    char *line = NULL, **argv = NULL, full[PATH_MAX] = "";

    if (!is_found(program))
        beside(program, full);
    if (argv_append(&argv, full[0] ? full : program, NULL) == 0 &&
        argv_append(&argv, path, NULL) == 0)
        argv_join(argv, &line, NULL);
    argv_free(argv);
    return line;
}
