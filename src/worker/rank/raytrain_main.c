/* raytrain_main.c - raytrain_main(): a program that is a worker. */
#include "rank/worker.h"

#include <stdio.h>

/* Stopped on request is no error; everything else the worker's log should hold too. */
static void last_words(int status, const struct error *err)
{
    if (status != 0 && err->code != RAYTRAIN_ESTOPPED)
        fprintf(stderr, "raytrain: %s\n", err->text);
}

int raytrain_main(int argc, char *argv[], raytrain_train_func train_func)
{
    struct worker_program program = {.train_func = train_func};
    struct error err = {0};
    int status;

    if (argc > 0 && argv) {
        program.argc = argc - 1;
        program.argv = argv + 1;
    }
    status = raytrain_worker_run(&program, last_words, &err);
    last_words(status, &err);
    return status;
}
