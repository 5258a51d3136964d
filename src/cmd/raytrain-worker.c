/*
 * raytrain-worker.c - one worker, with a training function from a shared object, or
 * with a command that it starts and serves:
 *
 *     raytrain-worker TRAIN_FUNC.so [ARG...]
 *     raytrain-worker -- COMMAND [ARG...]
 *     raytrain-worker --trainer NAME
 *     raytrain-worker --check
 *     raytrain-worker --serve DESCRIPTOR
 *
 * raytrain-run starts it, with the rest of what it needs in its environment
 * (protocol/worker_env.h) and in the run directory. The arguments are for the
 * training function: raytrain_args(). With --check it tries what workers rely on, for
 * raytrain-run --check. With --serve it is not a worker: it reads checkpoints
 * and datasets for the process at the other end of a socket (command/helper.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/helper.h"
#include "life/worker.h"
#include "loop/loop.h"
#include "probe/probe.h"
#include "protocol/site_report.h"
#include "rank/own_words.h"

static void last_words(int status, const struct error *err)
{
    if (status != 0 && err->code != RAYTRAIN_ESTOPPED)
        raytrain_worker_say("raytrain-worker: %.*s", (int)strcspn(err->text, "\n"),
                            err->text); /* a traceback, which is in the log already */
}

static int serve(const char *descriptor)
{
    struct error err = {0};
    int status = raytrain_helper_run(atoi(descriptor), &err);

    last_words(status, &err);
    return status;
}

int main(int argc, char *argv[])
{
    struct loop_source source = {0};
    struct error err = {0};
    int status;

    if (argc == 3 && strcmp(argv[1], "--serve") == 0)
        return serve(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--trainer") == 0) {
        source.trainer = argv[2];
    } else if (argc == 2 && strcmp(argv[1], SITE_CHECK_ARGUMENT) == 0) {
        source.train_func = raytrain_site_check;
    } else if (argc > 1 && strcmp(argv[1], "--") == 0) {
        source.is_command = true;
        argc--;
        argv++;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: raytrain-worker TRAIN_FUNC.so [ARG...]\n"
                        "       raytrain-worker -- COMMAND [ARG...]\n"
                        "       raytrain-worker --trainer NAME\n"
                        "raytrain-run starts the workers; type: raytrain-run --help\n");
        return 2;
    }
    /* So that the worker's log can be followed while it runs. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!source.trainer && !source.train_func) {
        source.path = argv[1];
        source.argc = argc - 2;
        source.argv = argv + 2;
    }
    status = raytrain_worker_run(&source, last_words, &err);
    last_words(status, &err);
    return status;
}
