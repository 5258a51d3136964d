/*
 * opened.c - a library that is found in place of those for GPUs, under each of their names:
 * it has no function, and appends its name, and the process that has opened it, to the file
 * OPENED_LOG.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __attribute__((constructor)) void opened(void)
{
    const char *path = getenv("OPENED_LOG");
    char program[4096] = "";
    FILE *f = path ? fopen(path, "a") : NULL;
    Dl_info self;

    if (!f)
        return;
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        program[0] = '?';
    fprintf(f, "%s %s\n", dladdr((void *)opened, &self) ? self.dli_fname : "?",
            program);
    fclose(f);
}
