/*
 * standin_fail.h - make calls of the stand-ins fail from now on, in a process whose
 * other threads read the environment: setenv() may free what getenv() is looking at.
 * Each variable gets its place while there are no such threads, and only its text is
 * changed later.
 */
#ifndef RAYTRAIN_TEST_STANDIN_FAIL_H
#define RAYTRAIN_TEST_STANDIN_FAIL_H

#include <stdlib.h>
#include <string.h>

#define STANDIN_TEXT 96

static const char *const standin_names[] = {"STANDIN_CUDA_FAIL", "STANDIN_NCCL_FAIL",
                                            "STANDIN_NCCL_BREAK"};
static char *standin_texts[sizeof standin_names / sizeof standin_names[0]];

/* First in the training function. What the test has set stays. The environment keeps
 * the memory, also when the function's library has been closed. */
static inline void standin_fail_prepare(void)
{
    for (size_t i = 0; i < sizeof standin_names / sizeof standin_names[0]; i++) {
        char *variable;

        if (getenv(standin_names[i]))
            continue;
        variable = calloc(1, STANDIN_TEXT);
        if (!variable)
            abort();
        strcat(strcpy(variable, standin_names[i]), "=");
        if (putenv(variable) != 0)
            abort();
        standin_texts[i] = strchr(variable, '=') + 1;
    }
}

static inline void standin_fail(const char *name, const char *how)
{
    size_t i = 0;

    while (strcmp(standin_names[i], name) != 0)
        if (++i == sizeof standin_names / sizeof standin_names[0])
            abort();
    if (!standin_texts[i] || strlen(name) + 1 + strlen(how) >= STANDIN_TEXT)
        abort();
    strcpy(standin_texts[i], how);
}

#endif
