/*
 * train_late.c - a training function that rank 1 never finishes loading the first time,
 * that is, if it can create the file TRAIN_LATE_ONCE.
 */
#include <fcntl.h>
#include <raytrain.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void never_loaded(void)
{
    const char *once = getenv("TRAIN_LATE_ONCE"), *rank = getenv("PMIX_RANK");

    if (!once || !rank || strcmp(rank, "1") != 0 ||
        open(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) < 0)
        return;
    for (;;)
        pause();
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    const raytrain_metric metric = {"loss", 1};

    return raytrain_report(ctx, &metric, 1, NULL);
}
